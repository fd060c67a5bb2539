/**
 * Compares the offer that a payer repeats with the offers that are made: an offer that differs in one character is
 * another offer. The challenge is left out: it changes with time, and its binding is checked elsewhere.
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

import { type PaymentError, refuse } from "../../protocol/PaymentError.ts"
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import type { AcceptedOffer } from "../../wire/pontage/Dialect.ts"

type Mismatch = PaymentError | ValidationError

/** Picks the offer that is repeated; `undefined` if none is repeated. Fails with the first offer's difference. */
export const pick = <Offer>(
  accepted: AcceptedOffer | undefined,
  offers: ReadonlyArray<Offer>,
  requirementsOf: (offer: Offer) => PaymentRequirements
): Result.Result<Offer | undefined, Mismatch> => {
  if (accepted === undefined) return Result.succeed(undefined)
  let first: Mismatch | undefined
  for (const offer of offers) {
    const mismatch = compare(accepted, requirementsOf(offer))
    if (mismatch === undefined) return Result.succeed(offer)
    first ??= mismatch
  }
  return first === undefined ? Result.succeed(undefined) : Result.fail(first)
}

const difference = (field: string, is: unknown, should: unknown): string =>
  `the payment repeats the offer with ${field} ${JSON.stringify(is)}, offered is ${JSON.stringify(should)}; repeat it as it came`

const compare = (accepted: AcceptedOffer, offered: PaymentRequirements): Mismatch | undefined => {
  if (accepted.scheme !== offered.scheme) {
    return invalid("unsupported_scheme", "accepted_scheme", difference("scheme", accepted.scheme, offered.scheme))
  }
  if (accepted.network !== offered.network) {
    return refuse("NETWORK_MISMATCH", "accepted_network", difference("network", accepted.network, offered.network))
  }
  if (accepted.asset !== offered.asset) {
    return invalid("asset_mismatch", "accepted_asset", difference("asset", accepted.asset, offered.asset))
  }
  if (accepted.maxAmountRequired !== offered.maxAmountRequired) {
    const message = difference("an amount of", accepted.maxAmountRequired, offered.maxAmountRequired)
    return invalid("amount_mismatch", "accepted_amount", message)
  }
  if (accepted.payTo !== offered.payTo) {
    return refuse("INVALID_RECIPIENT", "accepted_recipient", difference("payTo", accepted.payTo, offered.payTo))
  }
  if (accepted.maxTimeoutSeconds !== undefined && accepted.maxTimeoutSeconds !== offered.maxTimeoutSeconds) {
    const message = difference("maxTimeoutSeconds", accepted.maxTimeoutSeconds, offered.maxTimeoutSeconds)
    return invalid("malformed", "accepted_timeout", message)
  }
  const { extra } = accepted
  if (extra === undefined) return undefined
  const key = Object.keys(offered.extra ?? {}).find((name) => name !== "challenge" && !isKept(name, extra, offered))
  if (key === undefined) return undefined
  return invalid("malformed", "accepted_extra", difference(`extra.${key}`, extra[key], offered.extra?.[key]))
}

/** Whether a key of `extra` is repeated. Payers may add keys, and write them in any order. */
const isKept = (name: string, extra: NonNullable<AcceptedOffer["extra"]>, offered: PaymentRequirements): boolean => {
  const given = Object.hasOwn(extra, name) ? extra[name] : undefined
  const wanted = offered.extra?.[name]
  return given !== undefined && wanted !== undefined && contains(wanted, given)
}

const isRecord = (value: Schema.Json): value is { readonly [key: string]: Schema.Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const contains = (wanted: Schema.Json, given: Schema.Json): boolean => {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(given) &&
      given.length === wanted.length &&
      wanted.every((one, index) => contains(one, given[index]))
    )
  }
  if (!isRecord(wanted)) return wanted === given
  return (
    isRecord(given) &&
    Object.entries(wanted).every(([key, value]) => {
      const other = Object.hasOwn(given, key) ? given[key] : undefined
      return other !== undefined && contains(value, other)
    })
  )
}
