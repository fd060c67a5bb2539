/** A payer's own spending limits: dollars for dollar stablecoins, and the smallest unit for single assets. */
import * as Result from "effect/Result"

import * as Amount from "../protocol/Amount.ts"
import type { Asset } from "../protocol/Asset.ts"
import * as OptionCheck from "../protocol/OptionCheck.ts"
import * as Price from "../protocol/Price.ts"
import { Misconfigured } from "../protocol/ProtocolError.ts"
import type { Scheme } from "../scheme/Scheme.ts"
import * as Spending from "./Spending.ts"

/**
 * A limit on one asset, in its smallest unit, as decimal text. An asset is named by its address: payments on all
 * networks of a family that have this address add up.
 */
export interface AssetLimit {
  readonly perRequest: string
  /** Maximum in any 24 hours. */
  readonly perDay?: string
  /** Maximum in any 24 hours, for each host. */
  readonly perHost?: string
  /** Maximum that lies in one payment channel and is not spent; without it no channel is opened in this asset. */
  readonly perChannel?: string
  /** Maximum that lies in all payment channels together and is not spent; default `perChannel`. */
  readonly inChannels?: string
}

/**
 * The limits as a payer writes them. Dollar texts (`"$0.05"`) limit dollar stablecoins, all of them together, on all
 * networks; any other asset is paid only within its own limit in `assets`, by its address. A plain text there is the
 * limit for one request. A dollar stablecoin that has an asset limit too must keep both.
 */
export interface PaymentLimits {
  /** Maximum for one request; default `"$0.10"`. */
  readonly perRequest?: string
  /** Maximum in any 24 hours. */
  readonly perDay?: string
  /** Maximum in any 24 hours for each host. */
  readonly perHost?: string
  /** Maximum that lies in one payment channel and is not spent; default `"$1"`. */
  readonly perChannel?: string
  /** Maximum that lies in all payment channels together and is not spent; default `"$5"`. */
  readonly inChannels?: string
  readonly assets?: Readonly<Record<string, string | AssetLimit>>
}

const amounts = {
  perDay: OptionCheck.optional(OptionCheck.text),
  perHost: OptionCheck.optional(OptionCheck.text),
  perChannel: OptionCheck.optional(OptionCheck.text),
  inChannels: OptionCheck.optional(OptionCheck.text)
}
const ownLimit = OptionCheck.either(
  OptionCheck.text,
  OptionCheck.options<AssetLimit>({ perRequest: OptionCheck.text, ...amounts })
)

/** The keys of the limits. */
export const check: OptionCheck.Check<PaymentLimits> = OptionCheck.options<PaymentLimits>({
  perRequest: OptionCheck.optional(OptionCheck.text),
  ...amounts,
  assets: OptionCheck.optional(OptionCheck.record(ownLimit))
})

/** One limit, read: its amounts are in its own unit, dollars or an asset's smallest unit. */
export interface UnitLimit {
  readonly counts: "dollars" | "asset"
  readonly perRequest: Spending.Spending
  readonly perDay: Spending.Spending | undefined
  readonly perHost: Spending.Spending | undefined
  readonly perChannel: Spending.Spending | undefined
  readonly inChannels: Spending.Spending | undefined
  /** The option to change, for messages. */
  readonly option: string
}

/** Default maximum for one request. */
export const defaultPerRequest = "$0.10"

/** Default maxima in one payment channel, and in all of them. */
export const defaultPerChannel = "$1"
export const defaultInChannels = "$5"

/**
 * Reads the limits into a function that finds those of an asset; an empty list means that it must not be paid in. A
 * malformed price or amount fails with `Misconfigured`.
 */
export const read = (
  limits: PaymentLimits
): Result.Result<(asset: Asset, scheme: Scheme) => ReadonlyArray<UnitLimit>, Misconfigured> => {
  const assets = Object.entries(limits.assets ?? {}).map(([address, limit]) =>
    Result.map(assetLimit(address, limit), (read) => ({ address, limit: read }))
  )
  return Result.map(Result.all([dollarLimits(limits), Result.all(assets)]), ([dollars, all]) => (asset, scheme) => {
    const own = all.filter(({ address }) => scheme.address(address) === asset.address).map(({ limit }) => limit)
    return asset.dollar ? [dollars, ...own] : own
  })
}

/** One limit of its three texts. */
const unitLimit = (
  { counts, option }: Pick<UnitLimit, "counts" | "option">,
  { perRequest, ...more }: AssetLimit,
  parse: (text: string, name: keyof AssetLimit) => Result.Result<Spending.Spending, Misconfigured>
): Result.Result<UnitLimit, Misconfigured> => {
  const maybe = (name: keyof typeof more) => {
    const text = more[name]
    return text === undefined ? Result.succeed(text) : parse(text, name)
  }
  const amounts = Result.all({
    perRequest: parse(perRequest, "perRequest"),
    perDay: maybe("perDay"),
    perHost: maybe("perHost"),
    perChannel: maybe("perChannel"),
    inChannels: maybe("inChannels")
  })
  return Result.map(amounts, (read) => ({ counts, option, ...read }))
}

const dollarLimits = (limits: PaymentLimits): Result.Result<UnitLimit, Misconfigured> =>
  unitLimit(
    { counts: "dollars", option: "limits" },
    {
      ...limits,
      perRequest: limits.perRequest ?? defaultPerRequest,
      perChannel: limits.perChannel ?? defaultPerChannel,
      inChannels: limits.inChannels ?? defaultInChannels
    },
    dollarLimit
  )

const dollarLimit = (text: string, name: string): Result.Result<Spending.Spending, Misconfigured> =>
  Result.mapBoth(Price.parse(text), {
    onSuccess: ({ digits, scale }) => ({ unit: Spending.dollar, digits, scale }),
    onFailure: ({ message }) => new Misconfigured({ message: `limits.${name}: ${message}` })
  })

const assetLimit = (address: string, limit: string | AssetLimit): Result.Result<UnitLimit, Misconfigured> => {
  const option = `limits.assets["${address}"]`
  const given: AssetLimit = typeof limit === "string" ? { perRequest: limit } : limit
  return unitLimit({ counts: "asset", option }, given, (text) => atomicLimit(option, address, text))
}

const atomicLimit = (option: string, unit: string, text: string): Result.Result<Spending.Spending, Misconfigured> => {
  if (Amount.isText(text)) return Result.succeed({ unit, digits: BigInt(text), scale: 0 })
  const message = `${option}: expected an amount in the asset's smallest unit such as "1000000", got ${JSON.stringify(text)}`
  return Result.fail(new Misconfigured({ message }))
}
