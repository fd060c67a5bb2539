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
  /** Maximum for one metered stream; default `perRequest`, which bounds each of its windows. */
  readonly perStream?: string
  /** Maximum that lies in one payment channel and is not spent; without it no channel is opened in this asset. */
  readonly perChannel?: string
  /** Maximum that lies in all payment channels together and is not spent; default `perChannel`. */
  readonly inChannels?: string
}

/** Limits of all payments, or in `networks` of those on one network. */
export interface NetworkLimits {
  /** Maximum for one request; default `"$0.10"`. */
  readonly perRequest?: string
  /** Maximum in any 24 hours. */
  readonly perDay?: string
  /** Maximum in any 24 hours for each host. */
  readonly perHost?: string
  /** Maximum for one metered stream; default `perRequest`, which bounds each of its windows. */
  readonly perStream?: string
  /** Maximum that lies in one payment channel and is not spent; default `"$1"`. */
  readonly perChannel?: string
  /** Maximum that lies in all payment channels together and is not spent; default `"$5"`. */
  readonly inChannels?: string
  readonly assets?: Readonly<Record<string, string | AssetLimit>>
}

/**
 * The limits as a payer writes them. Dollar texts (`"$0.05"`) limit dollar stablecoins, all of them together, on all
 * networks; any other asset is paid only within its own limit in `assets`, by its address. A plain text there is the
 * limit for one request. A dollar stablecoin that has an asset limit too must keep both.
 */
export interface PaymentLimits extends NetworkLimits {
  /**
   * Further limits of single networks, each by any of its names: `{ base: { perDay: "$5" } }`. A payment must keep them and those of
   * all networks; only a default gives way to what its network says.
   */
  readonly networks?: Readonly<Record<string, NetworkLimits>>
}

const amounts = {
  perDay: OptionCheck.optional(OptionCheck.text),
  perHost: OptionCheck.optional(OptionCheck.text),
  perStream: OptionCheck.optional(OptionCheck.text),
  perChannel: OptionCheck.optional(OptionCheck.text),
  inChannels: OptionCheck.optional(OptionCheck.text)
}
const ownLimit = OptionCheck.either(
  OptionCheck.text,
  OptionCheck.options<AssetLimit>({ perRequest: OptionCheck.text, ...amounts })
)

const limitKeys: OptionCheck.Table<NetworkLimits> = {
  perRequest: OptionCheck.optional(OptionCheck.text),
  ...amounts,
  assets: OptionCheck.optional(OptionCheck.record(ownLimit))
}

/** The keys of the limits. */
export const check: OptionCheck.Check<PaymentLimits> = OptionCheck.options<PaymentLimits>({
  ...limitKeys,
  networks: OptionCheck.optional(OptionCheck.record(OptionCheck.options(limitKeys)))
})

/** One limit, read: its amounts are in its own unit, dollars or an asset's smallest unit. */
export interface UnitLimit {
  readonly counts: "dollars" | "asset"
  /** The network whose payments count; `undefined` for those on all networks. */
  readonly network: string | undefined
  readonly perRequest: Spending.Spending | undefined
  readonly perDay: Spending.Spending | undefined
  readonly perHost: Spending.Spending | undefined
  readonly perStream: Spending.Spending | undefined
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

/** The texts of one limit. */
type Amounts = { readonly [K in Exclude<keyof NetworkLimits, "assets">]?: string | undefined }

/** The limits of all networks as they hold on one: a default gives way to what the network says. */
const withDefaults = (general: NetworkLimits, own: NetworkLimits = {}): Amounts & Pick<NetworkLimits, "assets"> => {
  return {
    ...general,
    perRequest: general.perRequest ?? unlessGiven(own.perRequest, defaultPerRequest),
    perChannel: general.perChannel ?? unlessGiven(own.perChannel, defaultPerChannel),
    inChannels: general.inChannels ?? unlessGiven(own.inChannels, defaultInChannels)
  }
}

const unlessGiven = (text: string | undefined, standard: string) => (text === undefined ? standard : undefined)

/** The limits of an asset, of a client of this scheme; an empty list means that it must not be paid in. */
export type LimitsOf = (asset: Asset, scheme: Scheme) => ReadonlyArray<UnitLimit>

/**
 * Reads the limits into a function that finds those of an asset. A malformed price or amount fails with `Misconfigured`.
 */
export const read = ({ networks = {}, ...general }: PaymentLimits): Result.Result<LimitsOf, Misconfigured> =>
  Result.map(
    Result.all([
      limitsIn(withDefaults(general), "limits"),
      Result.all(Object.entries(networks).map(([name, own]) => ofNetwork(general, name, own)))
    ]),
    ([everywhere, single]) =>
      (asset, scheme) => {
        const here = single.filter(({ name }) => scheme.network(name) === asset.network)
        if (here.length === 0) return everywhere(asset, scheme)
        return here.flatMap(({ limitsOf }) => limitsOf(asset, scheme))
      }
  )

/** The limits on one network: those of all networks, without the defaults that it replaces, and its own. */
const ofNetwork = (
  general: NetworkLimits,
  name: string,
  own: NetworkLimits
): Result.Result<{ readonly name: string; readonly limitsOf: LimitsOf }, Misconfigured> => {
  return Result.map(
    Result.all([
      limitsIn(withDefaults(general, own), "limits"),
      limitsIn(own, `limits.networks[${JSON.stringify(name)}]`)
    ]),
    ([everywhere, here]) => ({
      name,
      limitsOf: (asset, scheme) => [
        ...everywhere(asset, scheme),
        ...here(asset, scheme).map((limit) => onNetwork(limit, asset.network))
      ]
    })
  )
}

const onNetwork = (limit: UnitLimit, network: string): UnitLimit => ({ ...limit, network })

const limitsIn = (
  limits: Amounts & Pick<NetworkLimits, "assets">,
  option: string
): Result.Result<LimitsOf, Misconfigured> => {
  const assets = Object.entries(limits.assets ?? {}).map(([address, limit]) =>
    Result.map(assetLimit(`${option}.assets["${address}"]`, address, limit), (read) => ({ address, limit: read }))
  )
  return Result.map(
    Result.all([dollarLimits(option, limits), Result.all(assets)]),
    ([dollars, all]) =>
      (asset, scheme) => {
        const own = all.filter(({ address }) => scheme.address(address) === asset.address).map(({ limit }) => limit)
        return asset.dollar ? [dollars, ...own] : own
      }
  )
}

/** One limit of its texts. */
const unitLimit = (
  { counts, option }: Pick<UnitLimit, "counts" | "option">,
  texts: Amounts,
  parse: (text: string, name: string) => Result.Result<Spending.Spending, Misconfigured>
): Result.Result<UnitLimit, Misconfigured> => {
  const maybe = (name: keyof typeof texts) => {
    const text = texts[name]
    return text === undefined ? Result.succeed(text) : parse(text, name)
  }
  const amounts = Result.all({
    perRequest: maybe("perRequest"),
    perDay: maybe("perDay"),
    perHost: maybe("perHost"),
    perStream: maybe("perStream"),
    perChannel: maybe("perChannel"),
    inChannels: maybe("inChannels")
  })
  return Result.map(amounts, (read) => ({ counts, option, network: undefined, ...read }))
}

const dollarLimits = (option: string, limits: Amounts): Result.Result<UnitLimit, Misconfigured> =>
  unitLimit({ counts: "dollars", option }, limits, (text, name) => dollarLimit(`${option}.${name}`, text))

const dollarLimit = (option: string, text: string): Result.Result<Spending.Spending, Misconfigured> =>
  Result.mapBoth(Price.parse(text), {
    onSuccess: ({ digits, scale }) => ({ unit: Spending.dollar, digits, scale }),
    onFailure: ({ message }) => new Misconfigured({ message: `${option}: ${message}` })
  })

const assetLimit = (
  option: string,
  address: string,
  limit: string | AssetLimit
): Result.Result<UnitLimit, Misconfigured> => {
  const given: AssetLimit = typeof limit === "string" ? { perRequest: limit } : limit
  const texts = { ...given, inChannels: given.inChannels ?? given.perChannel }
  return unitLimit({ counts: "asset", option }, texts, (text) => atomicLimit(option, address, text))
}

const atomicLimit = (option: string, unit: string, text: string): Result.Result<Spending.Spending, Misconfigured> => {
  if (Amount.isText(text)) return Result.succeed({ unit, digits: BigInt(text), scale: 0 })
  const message = `${option}: expected an amount in the asset's smallest unit such as "1000000", got ${JSON.stringify(text)}`
  return Result.fail(new Misconfigured({ message }))
}
