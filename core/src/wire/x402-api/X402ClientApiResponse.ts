/**
 * What a facilitator of x402 has answered, as far as its words go: read by schema, its reasons put into ours. Whether an
 * answer agrees with what was asked is judged where that is known.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { type PaymentError, refuse } from "../../protocol/PaymentError.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import * as X402Network from "../x402/X402Network.ts"
import * as X402Reason from "../x402/X402Reason.ts"

/**
 * What a reason says, of a payment that was asked to be settled:
 *
 * - `Used` the chain takes this authorization no more;
 * - `Refused` the payment was looked at and refused, nothing was sent;
 * - `Busy` it is being settled, by this call or by another;
 * - `Pending` its transaction was sent and has no known outcome;
 * - `Reverted` its transaction was sent and did not move the money;
 * - `Unlisted` a refusal by a word that no list knows: whether anything was sent before it cannot be told;
 * - `Unknown` nothing that could be relied on.
 */
export type Reason =
  | { readonly _tag: "Used" | "Refused" | "Unlisted"; readonly failure: PaymentError | ValidationError }
  | { readonly _tag: Stage }

type Stage = "Busy" | "Pending" | "Reverted" | "Unknown"

/** An answer to `POST /verify`; `reason` where it is a refusal. */
export interface Verification {
  readonly isValid: boolean
  readonly payer: string | undefined
  readonly word: string | undefined
  readonly reason: Reason | undefined
}

/** An answer to `POST /settle`. `network` is its CAIP-2 identifier where the answer names one of version 1. */
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

/** Peers leave out what they do not know in three ways. */
const said = (text: string | null | undefined): string | undefined =>
  text === undefined || text === null || text === "" ? undefined : text

/** Reads an answer to `POST /verify`. */
export const readVerification = (json: unknown): Read<Verification> =>
  Result.map(decodeVerification(json), ({ invalidReason, isValid, payer }) => {
    const word = said(invalidReason)
    return { isValid, payer: said(payer), word, reason: word === undefined ? undefined : reasonOf(word) }
  })

/** Reads an answer to `POST /settle`. */
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

/** A peer that could not note down what is pending calls it failed, and says so in the message alone. */
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

/** Words that tell how far a settlement came. */
const stages: ReadonlyMap<string, Stage> = new Map<string, Stage>([
  ["settlement_pending", "Pending"],
  ["duplicate_settlement", "Busy"],
  ["transaction_failed", "Reverted"],
  ["invalid_transaction_state", "Reverted"],
  ["transfer_event_mismatch", "Reverted"]
])

/** What peers find before they send anything, beside what has a meaning in our words. */
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
