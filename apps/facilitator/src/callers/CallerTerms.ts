/**
 * What a caller is granted: whom it may have paid in which assets, how often it may ask, what its payments may cost the
 * signers in gas, and where it is told of their ends.
 */
import { type Network, OptionCheck, type PaymentRequirements, type SchemeFacilitator } from "@pontage/core"
import { EvmNetwork } from "@pontage/evm"
import { TonNetwork } from "@pontage/ton"
import { TronNetwork } from "@pontage/tron"
import * as Redacted from "effect/Redacted"

import type { ApiKeyDigest } from "./ApiKey.ts"
import type { Rate } from "./RateLimiter.ts"

/** Payees and assets that are registered for a caller, on one network or on all; what is left out is not limited. */
export interface Registration {
  readonly network?: string
  readonly payees?: ReadonlyArray<string>
  readonly assets?: ReadonlyArray<string>
}

/** Where the ends of payments are told, and the secret that proves who tells them. Both may hold credentials. */
export interface WebhookTerms {
  readonly url: Redacted.Redacted
  readonly secret: Redacted.Redacted
}

/** How often may be asked: by the caller, and by each payer whose payments it brings. */
export interface RateTerms {
  readonly rate: Rate
  readonly payerRate: Rate
}

/**
 * A caller. Its payments are kept under its name; an operator sees everybody's. Without `registrations` it may have anybody
 * paid in anything, without `rates` it may ask as often as it likes.
 */
export interface CallerTerms {
  readonly name: string
  /** Any of them; several while one is replaced by another. */
  readonly keys: ReadonlyArray<ApiKeyDigest>
  readonly operator?: boolean
  readonly registrations?: ReadonlyArray<Registration>
  readonly rates?: RateTerms
  /** What its payments may cost in 24 hours, by network, in the smallest native unit; elsewhere it has its share of the total. */
  readonly gasCeilings?: ReadonlyMap<string, bigint>
  readonly webhook?: WebhookTerms
}

const texts = OptionCheck.optional(OptionCheck.list(OptionCheck.text))
const redacted = <A>() => OptionCheck.given<Redacted.Redacted<A>>("a redacted value", Redacted.isRedacted)
const rate = OptionCheck.options<Rate>({ perSecond: OptionCheck.whole(1), burst: OptionCheck.whole(1) })

/** The keys of rates. */
export const rateCheck: OptionCheck.Check<RateTerms> = OptionCheck.options<RateTerms>({ rate, payerRate: rate })

/** The keys of a caller's terms: one that is misspelt would grant what it was to limit. */
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

/**
 * Whether a payment to this payee in this asset is registered. Addresses are compared as the family's scheme writes them,
 * so that one address in two spellings is one. Where assets are registered, the asset has to be named.
 */
export const isRegistered = (
  registrations: ReadonlyArray<Registration> | undefined,
  schemes: ReadonlyArray<SchemeFacilitator>,
  requirements: Requirements
): boolean => {
  if (registrations === undefined) return true
  const { asset, network, payTo, scheme } = requirements
  const half = schemes.find((one) => one.scheme.name === scheme && one.scheme.network(network) === one.network)
  if (half === undefined) return false
  const isAmong = (addresses: ReadonlyArray<string> | undefined, asked: string | undefined) => {
    if (addresses === undefined) return true
    const canonical = asked === undefined ? undefined : half.scheme.address(asked)
    return canonical !== undefined && addresses.some((address) => half.scheme.address(address) === canonical)
  }
  return registrations.some(
    (one) =>
      (one.network === undefined || half.scheme.network(one.network) === half.network) &&
      isAmong(one.payees, payTo) &&
      isAmong(one.assets, asset)
  )
}

/**
 * The names of those who may have somebody paid on a network, and so share what settling there may cost; without a network, anywhere.
 */
export const sharers = (callers: ReadonlyArray<CallerTerms>, network?: string): ReadonlyArray<string> => {
  const isThere = (one: Registration) =>
    network === undefined || one.network === undefined || networkFromText(one.network) === network
  return callers.flatMap(({ name, registrations }) =>
    registrations === undefined || registrations.some(isThere) ? [name] : []
  )
}
