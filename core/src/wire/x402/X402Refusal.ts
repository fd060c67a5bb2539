/**
 * What a refusal of an x402 server says about the payment it refuses, beside its offers: our own words where the server is
 * one of ours, else the meaning of its one word.
 */
import * as Result from "effect/Result"

import * as Shape from "../../protocol/Shape.ts"
import { type RefusalDetails, refusalDetails } from "../pontage/RefusalShape.ts"
import * as X402Reason from "./X402Reason.ts"

/** What every refusal of ours says: a detail alone may be anybody's. */
const isOurs = ({ code, paymentState, reason, retry }: RefusalDetails): boolean =>
  (code ?? reason ?? retry ?? paymentState) !== undefined

/** The words in a body; a server that is none of ours has none there, and then its own word counts. */
export const words = (body: unknown, word: string | undefined): RefusalDetails => {
  const ours = Result.getOrUndefined(Shape.read(refusalDetails, body))
  if (ours !== undefined && isOurs(ours)) return ours
  return word !== undefined && word !== "" ? X402Reason.toVerdict(word) : {}
}
