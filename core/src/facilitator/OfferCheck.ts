/**
 * The checks that all schemes share: the signed authorization matches the offer, and its time is valid. Pure
 * comparisons; the scheme's own checks and the chain come after them (apps/docs/protocol.md#d17-order-of-checks).
 */
import * as Result from "effect/Result"

import { type PaymentError, refuse } from "../protocol/PaymentError.ts"
import type { PaymentPayload } from "../protocol/PaymentPayload.ts"
import { defaultMaxTimeoutSeconds } from "../protocol/PaymentRequirements.ts"
import { invalid, type ValidationError } from "../protocol/ValidationError.ts"
import type { Scheme } from "../scheme/Scheme.ts"
import type { Payment } from "../scheme/SchemeFacilitator.ts"

/** Minimum remaining validity at intake, in seconds: with less, an authorization may expire before its block. */
export const marginSeconds = 6

/** Tolerance in seconds for a payer's clock that runs ahead, when its validity window is judged. */
const clockSkewSeconds = 30

/** Compares a payment with its offer at `now` (Unix seconds). */
export const check = (
  scheme: Scheme,
  envelope: PaymentPayload,
  payment: Payment,
  now: number
): Result.Result<void, PaymentError | ValidationError> =>
  Result.flatMap(checkTerms(scheme, envelope, payment), () => checkTime(payment, now))

/** The part that does not depend on the time. */
export const checkTerms = (
  scheme: Scheme,
  envelope: PaymentPayload,
  payment: Payment
): Result.Result<void, PaymentError | ValidationError> =>
  toResult(networkFailure(scheme, envelope, payment) ?? termsFailure(scheme, payment))

/** The part that depends on the time, at `now` (Unix seconds). */
export const checkTime = (payment: Payment, now: number): Result.Result<void, PaymentError | ValidationError> =>
  toResult(timeFailure(payment, now))

const toResult = (failure: PaymentError | ValidationError | undefined) =>
  failure === undefined ? Result.void : Result.fail(failure)

const networkFailure = (scheme: Scheme, { network }: PaymentPayload, { requirements }: Payment) =>
  scheme.network(network) === requirements.network
    ? undefined
    : refuse(
        "NETWORK_MISMATCH",
        "other_network",
        `the payment is for ${network}, the offer for ${requirements.network}; sign for ${requirements.network}`
      )

const termsFailure = (scheme: Scheme, { authorization, requirements }: Payment) => {
  const { amount, asset, payTo } = authorization
  const wanted = scheme.address(requirements.payTo)
  if (wanted === undefined || payTo !== wanted) {
    return refuse(
      "INVALID_RECIPIENT",
      "other_recipient",
      `the payment goes to ${payTo}, the offer asks ${requirements.payTo}`
    )
  }
  if (requirements.asset === undefined || asset !== scheme.address(requirements.asset)) {
    return invalid("asset_mismatch", "other_asset", `the payment is in ${asset}, the offer asks ${requirements.asset}`)
  }
  if (amount !== BigInt(requirements.maxAmountRequired)) {
    const message = `the payment is of ${amount}, the offer asks exactly ${requirements.maxAmountRequired} of the smallest unit`
    return invalid("amount_mismatch", "other_amount", message)
  }
  return undefined
}

const timeFailure = ({ authorization, requirements }: Payment, now: number) => {
  const { validAfter, validBefore } = authorization
  if (validBefore <= now + marginSeconds) {
    const message = `the authorization is valid before ${validBefore}, it is ${now} now and ${marginSeconds} seconds must be left; sign a new one`
    return refuse("EXPIRED_PAYMENT", "expired", message)
  }
  if (validAfter >= now) {
    const message = `the authorization is valid only after ${validAfter}, it is ${now} now; check the payer's clock`
    return refuse("EXPIRED_PAYMENT", "not_yet_valid", message)
  }
  const longest = (requirements.maxTimeoutSeconds ?? defaultMaxTimeoutSeconds) + clockSkewSeconds
  return validBefore - now > longest
    ? invalid(
        "unsupported_authorization",
        "valid_too_long",
        `the authorization is valid for ${validBefore - now} seconds more; at most ${longest} are taken`
      )
    : undefined
}
