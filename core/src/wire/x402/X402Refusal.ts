/**
 * The fields of an x402 server's refusal about the payment: our own fields if the server is a Pontage one, else the
 * meaning of its one word. Servers that sell by the Machine Payments Protocol too write a sentence where x402 has a word,
 * and problem details in the body; those say what the sentence cannot.
 */
import * as Result from "effect/Result"

import * as Shape from "../../protocol/Shape.ts"
import * as MppRefusal from "../mpp/MppRefusal.ts"
import { type RefusalDetails, refusalDetails } from "../pontage/RefusalShape.ts"
import * as X402Reason from "./X402Reason.ts"

/** Whether the fields come from a Pontage server; a detail alone may come from any server. */
const isOurs = ({ code, paymentState, reason, retry }: RefusalDetails): boolean =>
  (code ?? reason ?? retry ?? paymentState) !== undefined

/** The fields in a body; other servers' bodies lack ours, and then their problem details or their word count. */
export const words = (body: unknown, word: string | undefined): RefusalDetails => {
  const ours = Result.getOrUndefined(Shape.read(refusalDetails, body))
  if (ours !== undefined && isOurs(ours)) return ours
  if (MppRefusal.isOf(body)) return MppRefusal.words(body)
  return word !== undefined && word !== "" ? X402Reason.toVerdict(word) : {}
}
