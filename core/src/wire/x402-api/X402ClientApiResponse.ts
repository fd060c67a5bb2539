/**
 * The responses of a facilitator of x402: read by schema, with its reasons translated into ours.
 * `X402FacilitatorResponse` checks whether a response agrees with its request.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { type PaymentError, refuse } from "../../protocol/PaymentError.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import * as X402Network from "../x402/X402Network.ts"
import * as X402Reason from "../x402/X402Reason.ts"

/**
 * The meaning of a reason, for a payment that was sent to be settled:
 *
 * - `Used` the chain no longer accepts this authorization;
 * - `Refused` the payment was checked and refused, nothing was sent;
 * - `Busy` it is being settled, by this call or by another;
 * - `Pending` its transaction was sent and has no known outcome;
 * - `Reverted` its transaction was sent and did not move the money;
 * - `Unlisted` a refusal by an unknown word: whether anything was sent before it is unknown;
 * - `Unknown` nothing reliable.
 */
export type Reason =
  | { readonly _tag: "Used" | "Refused" | "Unlisted"; readonly failure: PaymentError | ValidationError }
  | { readonly _tag: Stage }

type Stage = "Busy" | "Pending" | "Reverted" | "Unknown"

/** A response to `POST /verify`; `reason` is present if it is a refusal. */
export interface Verification {
  readonly isValid: boolean
  readonly payer: string | undefined
  readonly word: string | undefined
  readonly reason: Reason | undefined
}

/** A response to `POST /settle`. `network` is its CAIP-2 identifier if the response names one of version 1. */
export interface Settlement {
  readonly success: boolean
  readonly transaction: string
  readonly network: string
  readonly payer: string | undefined
  readonly amount: string | undefined
  readonly word: string | undefined
  readonly reason: Reason | undefined
}

const Words = Schema.optionalKey(Schema.NullOr(Schema.String))

const decodeVerification = Schema.decodeUnknownResult(
  Schema.Struct({ isValid: Schema.Boolean, invalidReason: Words, payer: Words })
)

const decodeSettlement = Schema.decodeUnknownResult(
  Schema.Struct({
    success: Schema.Boolean,
    errorReason: Words,
    errorMessage: Words,
    transaction: Schema.NullOr(Schema.String),
    network: Words,
    payer: Words,
    amount: Words
  })
)

type Read<A> = Result.Result<A, { readonly message: string }>

/** An optional text: peers omit it, or send `null` or an empty text. */
const said = (text: string | null | undefined): string | undefined =>
  text === undefined || text === null || text === "" ? undefined : text

/** Reads a response to `POST /verify`. */
export const readVerification = (json: unknown): Read<Verification> =>
  Result.map(decodeVerification(json), ({ invalidReason, isValid, payer }) => {
    const word = said(invalidReason)
    return { isValid, payer: said(payer), word, reason: word === undefined ? undefined : reasonOf(word) }
  })

/** Reads a response to `POST /settle`. */
export const readSettlement = (json: unknown): Read<Settlement> =>
  Result.map(decodeSettlement(json), ({ amount, errorMessage, errorReason, network, payer, success, transaction }) => {
    const word = said(errorReason)
    const place = network ?? ""
    return {
      success,
      transaction: transaction ?? "",
      network: X402Network.fromName(place) ?? place,
      payer: said(payer),
      amount: said(amount),
      word,
      reason: word === undefined ? undefined : isStillPending(errorMessage) ? { _tag: "Pending" } : reasonOf(word)
    }
  })

/**
 * Whether a failure is still pending: a peer that could not store a pending state calls it failed, and names the state
 * in the message alone.
 */
const isStillPending = (message: string | null | undefined): boolean =>
  message?.startsWith("settlement_pending") === true

const reasonOf = (word: string): Reason => {
  const kernel = word.replace(/^invalid_exact_[a-z0-9]+_(?:payload_)?/, "")
  const stage = stages.get(kernel)
  if (stage !== undefined) return { _tag: stage }
  const { code, detail = word, reason, retry } = X402Reason.toVerdict(word)
  if (reason === "already_used") return { _tag: "Used", failure: invalid(reason, detail, usedUp) }
  if (code !== undefined) return { _tag: "Refused", failure: refuse(code, detail, refusedWith(detail)) }
  if (reason !== undefined) return { _tag: "Refused", failure: invalid(reason, detail, refusedWith(detail)) }
  if (retry !== undefined) return { _tag: "Unknown" }
  const failure = invalid("unsupported_authorization", detail, refusedWith(detail))
  return { _tag: beforeSending.has(kernel) ? "Refused" : "Unlisted", failure }
}

const refusedWith = (word: string) => `the facilitator refuses the payment: ${word}`
const usedUp = "this authorization was used already, not through this server; it pays for nothing more"

/** The stages of a settlement by their words. */
const stages: ReadonlyMap<string, Stage> = new Map<string, Stage>([
  ["settlement_pending", "Pending"],
  ["duplicate_settlement", "Busy"],
  ["transaction_failed", "Reverted"],
  ["invalid_transaction_state", "Reverted"],
  ["transfer_event_mismatch", "Reverted"]
])

/** Words for failures that peers find before they send anything, in addition to those with a meaning of ours. */
const beforeSending: ReadonlySet<string> = new Set([
  "missing_eip712_domain",
  "token_name_mismatch",
  "token_version_mismatch",
  "eip3009_not_supported",
  "transaction_simulation_failed",
  "undeployed_smart_wallet",
  "asset_not_deployed_contract",
  "eip6492_factory_not_allowed",
  "smart_wallet_deployment_failed",
  "invalid_payment"
])
