/**
 * The last word about a request whose validity is over: it moved the money, or it never will. What a node shows is never
 * taken back, so an account as of a block whose time is past the validity proves it.
 */
import type { ChainUnavailable, Conclusion, ObservedPayment } from "@pontage/core"
import * as Effect from "effect/Effect"

import type { ExactTonChain } from "../exact/ExactTonChain.ts"
import * as TonPayer from "../exact/TonPayer.ts"
import type { Held } from "../payment/ExactTonReading.ts"
import * as TonObservation from "./TonObservation.ts"

/** A masterchain block takes in blocks of the other chain that are a little older; seconds. */
const overlap = 5

const pending: Conclusion = { _tag: "Pending" }

/** Concludes. */
export const conclude = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  observedPayment: ObservedPayment<Held>
): Effect.fn.Return<Conclusion, ChainUnavailable> {
  const { payload: held } = observedPayment.payment
  const account = yield* chain.rpc.account(held.payer)
  const { head } = account
  const isUsed = TonPayer.isUsed(held, account)
  const begun = isUsed ? yield* chain.searches.find(observedPayment.payment, account) : undefined
  const seen = begun && (yield* TonObservation.followed(chain, observedPayment, begun, undefined))
  if (seen !== undefined && seen._tag !== "Failed") return seen
  if (head.time < held.request.validUntil + overlap) return pending
  // A payer's own message that never ran has cost the relayer its share of the message that went with it. It may have been lost
  // on the way, or with a process: that is held against nobody. For which nothing was prepared has cost nothing.
  if (held.kind === "external" && observedPayment.unprepared !== true)
    yield* chain.books.enterUnused(observedPayment.payment, (yield* chain.tariff).external, false)
  yield* TonObservation.over(chain, observedPayment.payment)
  return { _tag: "Unused", at: { number: head.number, hash: head.hash } }
})
