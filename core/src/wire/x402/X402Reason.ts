/**
 * The words of x402 for problems with a payment, and their meaning in ours. Peers spell them in three ways: the
 * specification's section 9, the closed list of version 1 (its clients and servers parse against it), and the published
 * code of version 2; all are read, and each version is written as its own code writes it.
 */
import type { PaymentRequired } from "../../protocol/PaymentRequired.ts"
import { isDead } from "../../protocol/Settlement.ts"

/** The fields of a refusal that concern the payment. */
export type Verdict = Pick<PaymentRequired, "code" | "reason" | "detail" | "paymentState" | "retry">

/** The versions. */
export type X402Version = 1 | 2

/** The word for a pending transfer: callers of `/settle` of version 2 repeat the request after it. */
const pending = { 1: "unexpected_settle_error", 2: "settlement_pending" } as const

/**
 * The word for a problem, in one version. The words name EVM on every chain: other families have no shared lists of
 * their own.
 */
export const ofVerdict = (version: X402Version, verdict: Verdict): string => {
  const { code, detail, paymentState, reason } = verdict
  if (detail?.startsWith(channelDetail) === true) return `${channelWord}${detail.slice(channelDetail.length)}`
  if (code !== undefined) return said(wordsOfCodes[code][version], detail)
  if (reason !== undefined) return said(wordsOfReasons[reason][version], detail)
  if (paymentState !== undefined && isDead(paymentState)) return "invalid_transaction_state"
  if (detail === "in_flight") return "duplicate_settlement"
  return paymentState === undefined ? "unexpected_verify_error" : pending[version]
}

/**
 * The details of refusals about payment channels, and the words of x402 for them: those of the scheme `batch-settlement` on EVM, the
 * only family with a list of them.
 */
const channelDetail = "batch_settlement_"
const channelWord = "invalid_batch_settlement_evm_"

/** The sentence of the first response to a request, if peers have one. */
const unpaid = { 1: "X-PAYMENT header is required", 2: "Payment required" } as const

/** The `error` of a refusal: the word for the payment's problem, or the peers' sentence if none was presented. */
export const ofRefusal = (version: X402Version, required: PaymentRequired): string => {
  const { code, detail, paymentState, reason, retry } = required
  const isFirst = (code ?? reason ?? detail ?? paymentState ?? retry) === undefined
  return isFirst ? unpaid[version] : ofVerdict(version, required)
}

type ByDetail = (detail: string | undefined) => string
type Word = string | ByDetail

const said = (word: Word, detail: string | undefined): string => (typeof word === "string" ? word : word(detail))

const window: ByDetail = (detail) =>
  detail === "not_yet_valid"
    ? "invalid_exact_evm_payload_authorization_valid_after"
    : "invalid_exact_evm_payload_authorization_valid_before"

/** A network that the facilitator does not settle differs from a payment for another network. */
const network: ByDetail = (detail) =>
  detail === "network_not_settled" ? "invalid_network" : "invalid_exact_evm_network_mismatch"

/** Chooses between a malformed offer and a malformed payment. */
const form: ByDetail = (detail) =>
  detail === "requirements_fields" ? "invalid_payment_requirements" : "invalid_payload"

const wordsOfCodes: Readonly<Record<NonNullable<Verdict["code"]>, Readonly<Record<X402Version, Word>>>> = {
  INSUFFICIENT_BALANCE: { 1: "insufficient_funds", 2: "invalid_exact_evm_insufficient_balance" },
  INVALID_SIGNATURE: {
    1: "invalid_exact_evm_payload_signature",
    2: "invalid_exact_evm_signature"
  },
  EXPIRED_PAYMENT: { 1: window, 2: window },
  NETWORK_MISMATCH: { 1: "invalid_network", 2: network },
  INVALID_RECIPIENT: {
    1: "invalid_exact_evm_payload_recipient_mismatch",
    2: "invalid_exact_evm_recipient_mismatch"
  }
}

const wordsOfReasons: Readonly<Record<NonNullable<Verdict["reason"]>, Readonly<Record<X402Version, Word>>>> = {
  malformed: { 1: form, 2: form },
  unsupported_version: { 1: "invalid_x402_version", 2: "invalid_x402_version" },
  unsupported_scheme: { 1: "unsupported_scheme", 2: "unsupported_scheme" },
  unsupported_authorization: { 1: "invalid_payload", 2: "unsupported_payload_type" },
  amount_mismatch: {
    1: "invalid_exact_evm_payload_authorization_value",
    2: "invalid_exact_evm_payload_authorization_value_mismatch"
  },
  asset_mismatch: { 1: "invalid_payment_requirements", 2: "invalid_payment_requirements" },
  binding_mismatch: { 1: "invalid_payment", 2: "invalid_payment" },
  already_used: { 1: "duplicate_settlement", 2: "invalid_exact_evm_nonce_already_used" }
}

/**
 * The meaning of a peer's word. An unknown word is a refusal without a reason; free text other than the known sentences
 * is an exception that escaped at the peer, and says nothing about the payment: it is sent again.
 */
export const toVerdict = (word: string): Verdict => {
  const detail = word.slice(0, 200)
  const known = meanings.get(kernelOf(word))
  if (known !== undefined) return { ...known, detail }
  return /^[a-z0-9_]+$/i.test(word) || sentences.test(word) ? { detail } : { detail, retry: "same_payment" }
}

/** The word without its chain family. */
const kernelOf = (word: string): string =>
  word.replace(/^invalid_(?:exact|batch_settlement)_[a-z0-9]+_(?:payload_)?/, "")

const sentences =
  /^(?:payment required(?: to access this (?:tool|resource))?|no matching payment requirements(?: found)?|unable to find matching payment requirements|x-payment header is required|invalid or malformed payment header|unsupported x402 version.*)$/i

const again: Verdict = { retry: "same_payment" }

const meanings: ReadonlyMap<string, Verdict> = /* @__PURE__ */ new Map<string, Verdict>([
  ["insufficient_funds", { code: "INSUFFICIENT_BALANCE" }],
  ["insufficient_balance", { code: "INSUFFICIENT_BALANCE" }],
  ["signature", { code: "INVALID_SIGNATURE" }],
  ["failed_to_parse_signature", { code: "INVALID_SIGNATURE" }],
  ["payment_expired", { code: "EXPIRED_PAYMENT" }],
  ["authorization_valid_before", { code: "EXPIRED_PAYMENT" }],
  ["authorization_valid_after", { code: "EXPIRED_PAYMENT" }],
  // TON. A wallet's used number says the same as a used nonce: the payment may be the one that used it.
  ["seqno_mismatch", { reason: "already_used" }],
  ["valid_until_expired", { code: "EXPIRED_PAYMENT" }],
  ["invalid_signature", { code: "INVALID_SIGNATURE" }],
  ["amount_mismatch", { reason: "amount_mismatch" }],
  ["asset_mismatch", { reason: "asset_mismatch" }],
  ["network_mismatch", { code: "NETWORK_MISMATCH" }],
  ["invalid_network", { code: "NETWORK_MISMATCH" }],
  ["recipient_mismatch", { code: "INVALID_RECIPIENT" }],
  ["invalid_payload", { reason: "malformed" }],
  ["invalid_x402_version", { reason: "unsupported_version" }],
  ["scheme", { reason: "unsupported_scheme" }],
  ["invalid_scheme", { reason: "unsupported_scheme" }],
  ["unsupported_scheme", { reason: "unsupported_scheme" }],
  ["unsupported_payload_type", { reason: "unsupported_authorization" }],
  ["authorization_value", { reason: "amount_mismatch" }],
  ["authorization_value_mismatch", { reason: "amount_mismatch" }],
  ["invalid_payment_requirements", { reason: "asset_mismatch" }],
  ["nonce_already_used", { reason: "already_used" }],
  // The peer knows this authorization, pending or settled, and does not say which.
  ["duplicate_settlement", again],
  ["settlement_pending", again],
  ["unexpected_verify_error", again],
  ["unexpected_settle_error", again],
  // A rejected or failed transaction leaves the authorization unused.
  ["transaction_failed", again],
  ["invalid_transaction_state", again],
  // Another request of the same channel is running.
  ["channel_busy", { retry: "wait" }]
])
