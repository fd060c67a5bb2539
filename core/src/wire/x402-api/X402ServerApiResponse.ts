/**
 * The responses to an x402 server, in both versions, made from those to a Pontage server (x402 specification, section
 * "Facilitator Interface"). They express verdicts only; a request without a verdict gets an HTTP error instead.
 */
import * as Schema from "effect/Schema"

import type * as FacilitatorApi from "../pontage/FacilitatorApi.ts"
import * as X402Reason from "../x402/X402Reason.ts"
import type { X402Request } from "./X402ServerApiRequest.ts"

const messages = { description: "For people; version 1 has no such field" }

const extra = Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)).annotate({
  description: "The state of a payment channel, in the words of its scheme"
})

/** The response of `POST /verify`. */
export const X402VerifyResponse = Schema.Union([
  Schema.Struct({ isValid: Schema.Literal(true), payer: Schema.optionalKey(Schema.String), extra }),
  Schema.Struct({
    isValid: Schema.Literal(false),
    invalidReason: Schema.String,
    invalidMessage: Schema.optionalKey(Schema.String).annotate(messages),
    payer: Schema.optionalKey(Schema.String)
  })
])

export type X402VerifyResponse = typeof X402VerifyResponse.Type

/**
 * The response of `POST /settle`. `transaction` is empty while none is known; `network` is the caller's own name for
 * it.
 */
export const X402SettleResponse = Schema.Union([
  Schema.Struct({
    success: Schema.Literal(true),
    payer: Schema.optionalKey(Schema.String),
    transaction: Schema.String,
    network: Schema.String,
    amount: Schema.optionalKey(Schema.String),
    extra
  }),
  Schema.Struct({
    success: Schema.Literal(false),
    errorReason: Schema.String,
    errorMessage: Schema.optionalKey(Schema.String).annotate(messages),
    payer: Schema.optionalKey(Schema.String),
    transaction: Schema.String,
    network: Schema.String
  })
])

export type X402SettleResponse = typeof X402SettleResponse.Type

type Caller = Pick<X402Request, "version" | "network">

const extraOf = ({ extra }: Pick<typeof FacilitatorApi.VerifyResponse.Type, "extra">) =>
  extra === undefined ? {} : { extra }

const payerOf = ({ payer }: { readonly payer?: string }) => (payer === undefined || payer === "" ? {} : { payer })

/** The verdict of a verification. */
export const ofVerify = (
  { version }: Caller,
  response: typeof FacilitatorApi.VerifyResponse.Type
): X402VerifyResponse => {
  if (response.isValid) return { isValid: true, ...payerOf(response), ...extraOf(response) }
  return {
    isValid: false,
    invalidReason: X402Reason.ofVerdict(version, response),
    ...(version === 2 && response.message !== undefined && { invalidMessage: response.message }),
    ...payerOf(response)
  }
}

/** The words for a payment that may still go through. */
const openWords: ReadonlySet<string> = new Set(["settlement_pending", "duplicate_settlement"])

/** Some servers (mppx) pass on the message alone; their payers learn from it too that the payment may still go through. */
const messageOf = (word: string, message: string): string => (openWords.has(word) ? `${word}: ${message}` : message)

/**
 * The state of a settlement. An unconfirmed one is `settlement_pending` in version 2, whose servers then repeat the
 * request if they see a transaction; version 1 has no better word than `unexpected_settle_error`.
 */
export const ofSettle = (
  { network, version }: Caller,
  response: typeof FacilitatorApi.SettleResponse.Type
): X402SettleResponse => {
  const { amount, code, detail, message, reason, status, success, transaction } = response
  if (success) {
    const counted = version === 2 && amount !== undefined && amount !== "" ? { amount } : {}
    return { success, ...payerOf(response), transaction, network, ...counted, ...extraOf(response) }
  }
  const verdict = {
    ...(code !== undefined && { code }),
    ...(reason !== undefined && { reason }),
    ...(detail !== undefined && { detail }),
    paymentState: status
  }
  const errorReason = X402Reason.ofVerdict(version, verdict)
  return {
    success,
    errorReason,
    ...(version === 2 && message !== undefined && { errorMessage: messageOf(errorReason, message) }),
    ...payerOf(response),
    transaction,
    network
  }
}
