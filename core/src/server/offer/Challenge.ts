/**
 * The challenge that a payer signs into a payment, so that the payment is good for one request only
 * (apps/docs/protocol.md#d11-binding). It is a keyed hash over the request and the offer: the server stores nothing,
 * and every server of a shop that knows the secret recognises the shop's challenges.
 */
import type * as Effect from "effect/Effect"

import type { HashFunctions } from "../../platform/Hash.ts"
import * as KeyedDigest from "../shop/KeyedDigest.ts"

/** The request and the offer that a challenge stands for. */
export interface Subject {
  readonly origin: string
  /** GET for a HEAD request, so that a quote by HEAD can be paid by GET. */
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly scheme: string
  readonly network: string
  readonly asset: string
  readonly payTo: string
  readonly maxAmountRequired: string
  readonly bodyDigest: string | undefined
}

/** Length of an epoch in seconds; a challenge lives 15 to 30 minutes by the clock of the server that made it. */
const epochSeconds = 900

/** The epoch of an instant in Unix milliseconds. */
export const epochAt = (millis: number): number => Math.floor(millis / (epochSeconds * 1000))

/** The Unix second until which the challenges of an epoch are accepted: the end of the next epoch. */
export const endOf = (epoch: number): number => (epoch + 2) * epochSeconds

/**
 * The epochs whose challenges are accepted in this one, the likeliest first: this one, the one before, and the one
 * after. At the end of an epoch the clock of another server of the shop may already be in the next one.
 */
export const takenIn = (epoch: number): ReadonlyArray<number> => [epoch, epoch - 1, epoch + 1]

/**
 * `base64url(HMAC-SHA-256(secret, JSON of the fields and the epoch))`; JSON, so that no two lists of fields join to the
 * same text.
 */
export const make = (
  hash: HashFunctions,
  secret: Uint8Array,
  subject: Subject,
  epoch: number
): Effect.Effect<string> => {
  const { asset, bodyDigest, maxAmountRequired, method, network, origin, payTo, scheme, target } = subject
  const fields = [origin, method, target, scheme, network, asset, payTo, maxAmountRequired, epoch]
  const message = JSON.stringify(bodyDigest === undefined ? fields : [...fields, bodyDigest])
  return KeyedDigest.ofText({ hash, secret }, message)
}

/** Whether two challenges are equal, compared in constant time. */
export const isSame = (one: string, other: string): boolean => {
  if (one.length !== other.length) return false
  let difference = 0
  for (let index = 0; index < one.length; index++) difference |= one.charCodeAt(index) ^ other.charCodeAt(index)
  return difference === 0
}
