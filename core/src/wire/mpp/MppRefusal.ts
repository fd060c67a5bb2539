/**
 * The fields of a refusal about the payment, from problem details: our own fields if the server is a Pontage one, else the
 * meaning of the problem's type.
 */
import * as Shape from "../../protocol/Shape.ts"
import { type RefusalDetails, refusalDetails } from "../pontage/RefusalShape.ts"
import { base } from "./MppProblem.ts"

const verdicts: ReadonlyMap<string, RefusalDetails> = /* @__PURE__ */ new Map<string, RefusalDetails>([
  ["malformed-credential", { reason: "malformed" }],
  ["invalid-payload", { reason: "malformed" }],
  ["bad-request", { reason: "malformed" }],
  ["invalid-challenge", { reason: "binding_mismatch" }],
  ["method-unsupported", { reason: "unsupported_authorization" }],
  ["payment-insufficient", { reason: "amount_mismatch" }],
  ["payment-expired", { code: "EXPIRED_PAYMENT" }],
  ["internal-payment-error", { retry: "same_payment" }]
])

/**
 * The words of a facilitator that its server repeats in the sentence of a failed verification, and that say more than the
 * problem's type: the payment may still go through, or was used.
 */
const facilitatorWords: ReadonlyMap<string, RefusalDetails> = /* @__PURE__ */ new Map<string, RefusalDetails>([
  ["settlement_pending", { retry: "same_payment" }],
  ["duplicate_settlement", { retry: "same_payment" }],
  ["unexpected_verify_error", { retry: "same_payment" }],
  ["unexpected_settle_error", { retry: "same_payment" }],
  ["transaction_failed", { retry: "same_payment" }],
  ["invalid_transaction_state", { retry: "same_payment" }],
  ["nonce_already_used", { reason: "already_used" }]
])

const repeatedWord = /^Payment verification failed: (?:invalid_exact_[a-z0-9]+_)?([a-z0-9_]+)[.:]/

/** The meaning of a problem of this type. */
const verdictOf = (type: string, body: unknown): RefusalDetails => {
  const word = type === "verification-failed" ? repeatedWord.exec(sentence(body) ?? "")?.[1] : undefined
  return facilitatorWords.get(word ?? "") ?? verdicts.get(type) ?? {}
}

const typeOf = (body: unknown): string | undefined => {
  const type = Shape.isObject(body) ? body["type"] : undefined
  return typeof type === "string" && type.startsWith(base) ? type.slice(base.length) : undefined
}

/** Whether a body is a problem of this protocol. */
export const isOf = (body: unknown): boolean => typeOf(body) !== undefined

/** The server's sentence. */
export const sentence = (body: unknown): string | undefined => {
  const { detail, title } = Shape.isObject(body) ? body : {}
  return [detail, title].filter((text) => typeof text === "string").find((text) => text !== "")
}

/** The fields in a body. */
export const words = (body: unknown): RefusalDetails => {
  if (!Shape.isObject(body)) return {}
  const { reasonDetail, ...rest } = body
  const ours = refusalDetails.read({ ...rest, detail: reasonDetail })
  if (!(ours instanceof Shape.Fault) && (ours.code ?? ours.reason ?? ours.retry ?? ours.paymentState) !== undefined) {
    return ours
  }
  const type = typeOf(body)
  return type === undefined ? {} : { ...verdictOf(type, body), detail: type }
}
