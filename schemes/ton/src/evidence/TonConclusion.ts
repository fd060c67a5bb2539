/**
 * The last word about a request whose validity is over: it moved the money, or it never will. What a node shows is never
 * taken back, so an account as of a block whose time is past the validity proves it.
 */
import type { ChainUnavailable, Conclusion, Passenger } from "@pontage/core"
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
  passenger: Passenger<Held>
): Effect.fn.Return<Conclusion, ChainUnavailable> {
  const { payload: held } = passenger.payment
  const account = yield* chain.rpc.account(held.payer)
  const { head } = account
  const isUsed = TonPayer.isUsed(held, account)
  const begun = isUsed ? yield* chain.searches.find(passenger.payment, account) : undefined
  const seen = begun && (yield* TonObservation.followed(chain, passenger, begun, undefined))
  if (seen !== undefined && seen._tag !== "Failed") return seen
  if (head.time < held.request.validUntil + overlap) return pending
  // A payer's own message that never ran has cost the relayer its share of the message that went with it. It may have been lost
  // on the way, or with a process: that is held against nobody. For which nothing was prepared has cost nothing.
  if (held.kind === "external" && passenger.unprepared !== true)
    yield* chain.books.enterUnused(passenger.payment, (yield* chain.tariff).external, false)
  yield* TonObservation.over(chain, passenger.payment)
  return { _tag: "Unused", at: { number: head.number, hash: head.hash } }
})
