/**
 * Looking for a transaction in an account's history, from the newest backwards, as far as it can lie.
 */
import { ChainUnavailable, type Payment, PaymentRequirements } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as TonAddress from "./TonAddress.ts"
import type * as TonRpc from "./TonRpc.ts"
import type { TonTransaction } from "./TonTransaction.ts"

/** How many transactions are asked for at once. */
const page = 50

/**
 * How many questions the history of somebody else's account is worth: anybody may fill it with dust.
 *
 * @category constants
 */
export const strangersPages = 40

/** Seconds that clocks may differ by, and that a validity may be longer than an offer asks. */
const slack = 120

/**
 * The earliest that a payment can have been carried out; Unix seconds.
 *
 * @category getters
 */
export const beginningOf = ({ authorization: { validBefore }, requirements: { maxTimeoutSeconds } }: Payment): number =>
  validBefore - (maxTimeoutSeconds ?? PaymentRequirements.defaultMaxTimeoutSeconds) - slack

/**
 * The newest transaction of an account, not older than a time, of which something holds; `undefined` when there is none.
 * An account with more transactions than are looked through gives no answer.
 *
 * @category combinators
 */
export const find = Effect.fnUntraced(function* (
  rpc: TonRpc.Shape,
  address: TonAddress.Address,
  earliest: number,
  isSought: (transaction: TonTransaction) => boolean,
  pages = strangersPages
): Effect.fn.Return<TonTransaction | undefined, ChainUnavailable> {
  let from = (yield* rpc.account(address)).last
  for (let asked = 0; asked < pages; asked++) {
    if (from.lt === 0n) return undefined
    const transactions = yield* rpc.transactions(address, from, page)
    const found = transactions.find(isSought)
    if (found !== undefined) return found
    const oldest = transactions.at(-1)
    if (oldest === undefined || oldest.time < earliest) return undefined
    from = oldest.previous
  }
  const message = `the account ${address} has had too many transactions to be looked through`
  return yield* new ChainUnavailable({ network: rpc.network, message })
})
