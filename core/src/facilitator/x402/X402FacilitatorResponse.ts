/**
 * The meaning of an x402 facilitator's response for the payment that was sent. A response that contradicts itself or
 * its request is nonsense, and nonsense is never a success and never a verdict.
 */
import * as Result from "effect/Result"

import type { PaymentError } from "../../protocol/PaymentError.ts"
import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { ValidationError } from "../../protocol/ValidationError.ts"
import type { Scheme } from "../../scheme/Scheme.ts"
import type * as X402ClientApi from "../../wire/x402-api/X402ClientApiResponse.ts"
import type { Nonsense } from "../remote/FacilitatorResponse.ts"
import type { NewPayment } from "../store/PaymentStore.ts"

/**
 * The outcome of a settle request:
 *
 * - `Settled` the money has moved by this transaction;
 * - `Refused` nothing was sent, and why; `Used` the same, because the chain no longer accepts this authorization;
 * - `Pending` this transaction was sent; `Reverted` it is in a block and has not moved the money;
 * - `Unanswered` the request may have settled the payment; `NotTaken` it certainly has not.
 */
export type SettleOutcome =
  | { readonly _tag: "Settled" | "Pending" | "Reverted"; readonly transaction: string }
  | { readonly _tag: "Used" | "Refused"; readonly failure: PaymentError | ValidationError }
  | { readonly _tag: "Unanswered" | "NotTaken"; readonly error: FacilitatorUnavailable }

/** An outcome as far as the response shows it; `Unknown` and `Busy` still need an error message. */
export type SettleReading =
  | Exclude<SettleOutcome, { readonly error: FacilitatorUnavailable }>
  | { readonly _tag: "Unknown"; readonly why: string }
  | { readonly _tag: "Busy"; readonly why: string }

/** The sent payment, as far as the response must agree with it. */
export interface SentPayment {
  readonly scheme: Scheme
  readonly payment: NewPayment
}

const nonsense = (why: string): Nonsense => ({ _tag: "Nonsense", why })

/** The meaning of a response to `POST /verify`: valid, a refusal, or nonsense if it says nothing about the payment. */
export const verified = (
  sent: SentPayment,
  { isValid, payer, reason, word }: X402ClientApi.Verification
): Result.Result<void, PaymentError | ValidationError | Nonsense> => {
  if (isOther(sent, payer)) return Result.fail(nonsense("is about another payer"))
  if (isValid) return word === undefined ? Result.void : Result.fail(nonsense("says isValid: true and gives a reason"))
  if (reason === undefined) return Result.fail(nonsense("says isValid: false and gives no reason"))
  switch (reason._tag) {
    case "Used":
    case "Refused":
    case "Unlisted":
      return Result.fail(reason.failure)
    case "Busy":
    case "Pending":
    case "Reverted":
    case "Unknown":
      return Result.fail(nonsense(`says nothing about the payment: ${word?.slice(0, 200)}`))
  }
}

/** The meaning of a response to `POST /settle`. */
export const settled = (sent: SentPayment, response: X402ClientApi.Settlement): SettleReading => {
  const { reason, success, transaction, word } = response
  if (isOther(sent, response.payer)) return wrong("is about another payer")
  if (success) {
    const why = unearned(sent, response)
    return why === undefined ? { _tag: "Settled", transaction } : wrong(why)
  }
  if (reason === undefined) return wrong("says success: false and gives no reason")
  switch (reason._tag) {
    case "Used":
      return { _tag: "Used", failure: reason.failure }
    case "Refused":
      return transaction === ""
        ? { _tag: "Refused", failure: reason.failure }
        : wrong("refuses the payment and names a transaction")
    case "Pending":
    case "Reverted":
      return transaction === "" ? wrong(`says ${word} and names no transaction`) : { _tag: reason._tag, transaction }
    case "Busy":
      return { _tag: "Busy", why: "says that the payment is being settled already" }
    case "Unlisted":
    case "Unknown":
      return wrong(`does not say the outcome of the payment: ${word?.slice(0, 200)}`)
  }
}

const wrong = (why: string): SettleReading => ({ _tag: "Unknown", why })

/**
 * Maximum length of a transaction's name, in characters. It goes to the payer in a header, and a text that a header
 * cannot hold would cost the response.
 */
const longestName = 256

/** The reason why a success is not believed. */
const unearned = ({ payment, scheme }: SentPayment, response: X402ClientApi.Settlement): string | undefined => {
  const { amount, network, transaction, word } = response
  if (word !== undefined) return "says success: true and gives a reason"
  if (transaction === "") return "says success: true and names no transaction"
  if (transaction.length > longestName) return "says success: true and names a transaction by more than a name"
  if (scheme.network(network) !== payment.requirements.network) {
    return `is about network "${network.slice(0, 100)}", requested was "${payment.requirements.network}"`
  }
  if (amount !== undefined && amount !== `${payment.authorization.amount}`) {
    return `is about an amount of ${amount.slice(0, 100)}, requested was ${payment.authorization.amount}`
  }
  return undefined
}

/** Whether a response is about another payer. It need not name the payer; if it does, it must name the signer. */
const isOther = ({ payment, scheme }: SentPayment, payer: string | undefined): boolean =>
  payer !== undefined && scheme.address(payer) !== payment.authorization.payer
