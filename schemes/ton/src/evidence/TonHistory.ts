/**
 * Searches an account's history for a transaction, from the newest one backwards to the earliest possible time.
 */
import { ChainUnavailable, type Payment, PaymentRequirements } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as TonRpc from "../node/TonRpc.ts"
import type { TonTransaction } from "../node/TonTransaction.ts"
import type * as TonAddress from "../primitives/TonAddress.ts"

/** Transactions of one request. */
const page = 50

/** Requests in a row for the history of another account: any account may fill it with dust. */
export const strangersPages = 40

/** Seconds that clocks may differ by, and that a validity may be longer than an offer demands. */
const slack = 120

/** The earliest time that a payment can have been signed, and so carried out; Unix seconds. */
export const earliestOf = ({ authorization: { validBefore }, requirements: { maxTimeoutSeconds } }: Payment): number =>
  validBefore - (maxTimeoutSeconds ?? PaymentRequirements.defaultMaxTimeoutSeconds) - slack

/** A position in an account's history: a transaction by its logical time and hash. */
export type HistoryPosition = TonTransaction["previous"]

/** Result of a search. `Unfinished` proves nothing: the search continues from that position. */
export type SearchResult =
  | { readonly _tag: "Found"; readonly transaction: TonTransaction }
  | { readonly _tag: "Absent" }
  | { readonly _tag: "Unfinished"; readonly from: HistoryPosition }

/**
 * Searches for an account's newest transaction that `isSought` accepts, from this position backwards, not older than
 * `earliest` (Unix seconds), with `pages` requests at most.
 */
export const search = Effect.fnUntraced(function* (
  rpc: TonRpc.TonRpc,
  address: TonAddress.Address,
  position: HistoryPosition,
  earliest: number,
  isSought: (transaction: TonTransaction) => boolean,
  pages = strangersPages
): Effect.fn.Return<SearchResult, ChainUnavailable> {
  let from = position
  for (let requests = 0; requests < pages; requests++) {
    if (from.lt === 0n) return { _tag: "Absent" }
    const transactions = yield* rpc.transactions(address, from, page)
    const transaction = transactions.find((one) => one.time >= earliest && isSought(one))
    if (transaction !== undefined) return { _tag: "Found", transaction }
    const oldest = transactions.at(-1)
    if (oldest === undefined || oldest.time < earliest) return { _tag: "Absent" }
    from = oldest.previous
  }
  return { _tag: "Unfinished", from }
})

/** Error of an unfinished search. */
export const unfinished = (rpc: TonRpc.TonRpc, address: TonAddress.Address): ChainUnavailable => {
  const message = `the account ${address} has too many transactions to search at once`
  return new ChainUnavailable({ network: rpc.network, message })
}
