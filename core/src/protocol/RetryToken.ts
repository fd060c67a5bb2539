/**
 * The token of one 402 response: 128 random bits in an offer's `extra`. Buyers of dialects that repeat the offer send it
 * back with the payment. It never reaches the chain, so it tells the payer of an unbound payment from a stranger who has
 * rebuilt the payment from its public transaction.
 */
import * as Entropy from "../platform/Entropy.ts"
import type { PaymentRequirements } from "./PaymentRequirements.ts"

/** The name of the token in an offer's `extra`. */
export const key = "retryToken"

/** A source of random bytes. */
export type Source = Parameters<typeof Entropy.identifier>[0]

/** A new token: 22 characters of base64url. */
export const make = (source: Source): string => Entropy.identifier(source)

const isToken = /^[A-Za-z0-9_-]{22}$/

/** The token in an offer's `extra`; `undefined` if absent. */
export const of = (extra: PaymentRequirements["extra"]): string | undefined => {
  const token = extra !== undefined && Object.hasOwn(extra, key) ? extra[key] : undefined
  return typeof token === "string" && isToken.test(token) ? token : undefined
}
