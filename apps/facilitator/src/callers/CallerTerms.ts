/**
 * Terms of a caller: its registered payees and assets, its rate limits, its gas ceilings, and the webhook for the ends of its
 * payments.
 */
import { type Network, OptionCheck, type PaymentRequirements, type SchemeFacilitator } from "@pontage/core"
import { EvmNetwork } from "@pontage/evm"
import { TonNetwork } from "@pontage/ton"
import { TronNetwork } from "@pontage/tron"
import * as Redacted from "effect/Redacted"

import type { ApiKeyDigest } from "./ApiKey.ts"
import type { Rate } from "./RateLimiter.ts"

/** Payees and assets that are registered for a caller, on one network or on all. An absent field does not limit. */
export interface Registration {
  readonly network?: string
  readonly payees?: ReadonlyArray<string>
  readonly assets?: ReadonlyArray<string>
}

/** URL of a webhook, and the secret that signs it. Both may contain credentials. */
export interface WebhookTerms {
  readonly url: Redacted.Redacted
  readonly secret: Redacted.Redacted
}

/** Rate limits of the caller, and of each payer of its payments. */
export interface RateTerms {
  readonly rate: Rate
  readonly payerRate: Rate
}

/**
 * A caller. Its payments are recorded under its name; an operator reads those of all. Without `registrations` it may use any
 * payee and asset, without `rates` it has no limits.
 */
export interface CallerTerms {
  readonly name: string
  /** Digests of the valid keys; several while one key replaces another. */
  readonly keys: ReadonlyArray<ApiKeyDigest>
  readonly operator?: boolean
  readonly registrations?: ReadonlyArray<Registration>
  readonly rates?: RateTerms
  /** Most gas of its payments in 24 hours, by network, in the smallest native unit; on other networks its share of the total. */
  readonly gasCeilings?: ReadonlyMap<string, bigint>
  readonly webhook?: WebhookTerms
}

const texts = OptionCheck.optional(OptionCheck.list(OptionCheck.text))
const redacted = <A>() => OptionCheck.given<Redacted.Redacted<A>>("a redacted value", Redacted.isRedacted)
const rate = OptionCheck.options<Rate>({ perSecond: OptionCheck.whole(1), burst: OptionCheck.whole(1) })

/** Checks rates. */
export const rateCheck: OptionCheck.Check<RateTerms> = OptionCheck.options<RateTerms>({ rate, payerRate: rate })

/** Checks a caller's terms. Unknown keys are refused, because a misspelt limit would not limit. */
export const check: OptionCheck.Check<CallerTerms> = OptionCheck.options<CallerTerms>({
  name: OptionCheck.text,
  keys: OptionCheck.filled(redacted(), "give the digest of a key, or leave the caller out"),
  operator: OptionCheck.optional(OptionCheck.flag),
  registrations: OptionCheck.optional(
    OptionCheck.list(
      OptionCheck.options<Registration>({
        network: OptionCheck.optional(OptionCheck.text),
        payees: texts,
        assets: texts
      })
    )
  ),
  rates: OptionCheck.optional(rateCheck),
  gasCeilings: OptionCheck.optional(OptionCheck.given("a Map of amounts by network", (value) => value instanceof Map)),
  webhook: OptionCheck.optional(OptionCheck.options<WebhookTerms>({ url: redacted(), secret: redacted() }))
})

/** A network in its canonical form, from any of its names; `undefined` when it belongs to none of the service's families. */
export const networkFromText = (text: string): Network.Network | undefined =>
  EvmNetwork.fromText(text) ?? TonNetwork.fromText(text) ?? TronNetwork.fromText(text)

type Requirements = PaymentRequirements.PaymentRequirements

/** A payee and an asset on a network. */
interface Place {
  readonly network: string
  readonly payTo: string
  readonly asset?: string | undefined
}

/**
 * Whether a payment to this payee in this asset is registered. Where its money goes on to another network, the payee and the asset there
 * have to be registered too. Addresses are compared in the canonical form of the scheme. Where assets are registered, the payment has to
 * name its asset.
 */
export const isRegistered = (
  registrations: ReadonlyArray<Registration> | undefined,
  schemes: ReadonlyArray<SchemeFacilitator>,
  requirements: Requirements
): boolean => {
  if (registrations === undefined) return true
  const { network, scheme: name } = requirements
  const scheme = schemes.find((one) => one.scheme.name === name && one.scheme.network(network) === one.network)
  if (scheme === undefined) return false
  const arriving = scheme.onward?.place?.(requirements)
  if (!registrations.some((one) => isAt(scheme, one, requirements))) return false
  if (arriving === undefined) return true
  // The other network may be of another family, whose addresses its own scheme reads.
  const far = schemes.find((one) => one.scheme.name === name && one.scheme.network(arriving.network) === one.network)
  return registrations.some((one) => isAt(far ?? scheme, one, arriving))
}

/** Whether a registration is for a place. */
const isAt = ({ scheme }: SchemeFacilitator, { assets, network, payees }: Registration, place: Place): boolean => {
  const isAmong = (addresses: ReadonlyArray<string> | undefined, asked: string | undefined) => {
    if (addresses === undefined) return true
    const canonical = asked === undefined ? undefined : scheme.address(asked)
    return canonical !== undefined && addresses.some((address) => scheme.address(address) === canonical)
  }
  const there = scheme.network(place.network)
  const isThere = network === undefined || (there !== undefined && scheme.network(network) === there)
  return isThere && isAmong(payees, place.payTo) && isAmong(assets, place.asset)
}

/**
 * Names of the callers with a registered payee on a network, or on any network without one. They share the gas ceiling there.
 */
export const sharers = (callers: ReadonlyArray<CallerTerms>, network?: string): ReadonlyArray<string> => {
  const isThere = (one: Registration) =>
    network === undefined || one.network === undefined || networkFromText(one.network) === network
  return callers.flatMap(({ name, registrations }) =>
    registrations === undefined || registrations.some(isThere) ? [name] : []
  )
}

/**
 * Whether a caller's payees on a network are registered, all of them: then its requests are for no other caller's payees. One without
 * registered payees may ask in the name of any.
 */
export const hasPayees = (callers: ReadonlyArray<CallerTerms>, name: string, network: string): boolean => {
  const { registrations = [] } = callers.find((caller) => caller.name === name) ?? {}
  const there = registrations.filter((one) => one.network === undefined || networkFromText(one.network) === network)
  return there.length > 0 && there.every(({ payees }) => payees !== undefined)
}
