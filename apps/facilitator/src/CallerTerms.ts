/**
 * What a caller is granted: whom it may have paid in which assets, how often it may ask, what its payments may cost the
 * signers in gas, and where it is told of their ends.
 */
import type { PaymentRequirements, SchemeFacilitator } from "@pontage/core"
import type * as Redacted from "effect/Redacted"

import type { ApiKeyDigest } from "./ApiKey.ts"
import type { Rate } from "./RateLimiter.ts"

/**
 * Payees and assets that are registered for a caller, on one network or on all; what is left out is not limited.
 *
 * @category models
 */
export interface Registration {
  readonly network?: string
  readonly payees?: ReadonlyArray<string>
  readonly assets?: ReadonlyArray<string>
}

/**
 * Where the ends of payments are told, and the secret that proves who tells them. Both may hold credentials.
 *
 * @category models
 */
export interface WebhookTerms {
  readonly url: Redacted.Redacted
  readonly secret: Redacted.Redacted
}

/**
 * How often may be asked: by the caller, and by each payer whose payments it brings.
 *
 * @category models
 */
export interface RateTerms {
  readonly rate: Rate
  readonly payerRate: Rate
}

/**
 * A caller. Its payments are kept under its name; an operator sees everybody's. Without `registrations` it may have anybody
 * paid in anything, without `rates` it may ask as often as it likes.
 *
 * @category models
 */
export interface CallerTerms {
  readonly name: string
  /** Any of them; several while one is replaced by another. */
  readonly keys: ReadonlyArray<ApiKeyDigest>
  readonly operator?: boolean
  readonly registrations?: ReadonlyArray<Registration>
  readonly rates?: RateTerms
  /** What its payments may cost in 24 hours, by network, in the smallest native unit; elsewhere only the total counts. */
  readonly gasCeilings?: ReadonlyMap<string, bigint>
  readonly webhook?: WebhookTerms
}

type Requirements = PaymentRequirements.PaymentRequirements

/**
 * Whether a payment to this payee in this asset is registered. Addresses are compared as the family's scheme writes them,
 * so that one address in two spellings is one. Where assets are registered, the asset has to be named.
 *
 * @category guards
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
