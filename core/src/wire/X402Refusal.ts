/**
 * What a refusal of an x402 server says about the payment it refuses, beside its offers: our own words where the server is
 * one of ours, else the meaning of its one word.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { PaymentRequired } from "../protocol/PaymentRequired.ts"
import * as X402Reason from "./X402Reason.ts"

const { code, detail, paymentId, paymentState, reason, retry } = PaymentRequired.fields

/**
 * The words of a refusal without its offers.
 *
 * @category schemas
 */
const Words = /* @__PURE__ */ Schema.Struct({ code, reason, detail, paymentId, paymentState, retry })

/**
 * @category models
 */
export type Words = typeof Words.Type

const decodeWords = /* @__PURE__ */ Schema.decodeUnknownResult(Words)

/**
 * The words in a body; a server that is none of ours has none there, and then its own word counts.
 *
 * @category conversions
 */
export const words = (body: unknown, word: string | null | undefined): Words => {
  const ours = Result.getOrUndefined(decodeWords(body))
  if (ours !== undefined && Object.keys(ours).length > 0) return ours
  return typeof word === "string" && word !== "" ? X402Reason.toVerdict(word) : {}
}
