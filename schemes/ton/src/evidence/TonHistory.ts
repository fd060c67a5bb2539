/**
 * Looking for a transaction in an account's history, from the newest backwards, as far as it can lie.
 */
import { ChainUnavailable, type Payment, PaymentRequirements } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as TonRpc from "../node/TonRpc.ts"
import type { TonTransaction } from "../node/TonTransaction.ts"
import type * as TonAddress from "../primitives/TonAddress.ts"

/** How many transactions are asked for at once. */
const page = 50

/** How many questions in a row the history of somebody else's account is worth: anybody may fill it with dust. */
export const strangersPages = 40

/** Seconds that clocks may differ by, and that a validity may be longer than an offer asks. */
const slack = 120

/** The earliest that a payment can have been signed, and so carried out; Unix seconds. */
export const beginningOf = ({ authorization: { validBefore }, requirements: { maxTimeoutSeconds } }: Payment): number =>
  validBefore - (maxTimeoutSeconds ?? PaymentRequirements.defaultMaxTimeoutSeconds) - slack

/** A place in an account's history. */
export type Place = TonTransaction["previous"]

/** What a search has found. `Unfinished` is no answer: it goes on from that place. */
export type Search =
  | { readonly _tag: "Found"; readonly transaction: TonTransaction }
  | { readonly _tag: "Absent" }
  | { readonly _tag: "Unfinished"; readonly from: Place }

/**
 * Looks for the newest transaction of an account, from this place backwards and not older than a time, of which something
 * holds, with so many questions at most.
 */
export const search = Effect.fnUntraced(function* (
  rpc: TonRpc.Shape,
  address: TonAddress.Address,
  place: Place,
  earliest: number,
  isSought: (transaction: TonTransaction) => boolean,
  pages = strangersPages
): Effect.fn.Return<Search, ChainUnavailable> {
  let from = place
  for (let asked = 0; asked < pages; asked++) {
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

/** The error of a search that is not finished. */
export const unfinished = (rpc: TonRpc.Shape, address: TonAddress.Address): ChainUnavailable => {
  const message = `the account ${address} has had too many transactions to be looked through at once`
  return new ChainUnavailable({ network: rpc.network, message })
}
