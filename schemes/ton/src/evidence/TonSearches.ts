/**
 * Searches for the transaction of a payer's wallet that carried a request out, after the wallet has used the request's
 * number: from then on the history holds that transaction already, or never will. A long history is searched in parts, each
 * search continuing where the last one stopped. Searches without a result become rare, so a payment that is pending until
 * the end of its validity costs a node next to nothing.
 */
import type { ChainUnavailable, Payment } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type * as TonRpc from "../node/TonRpc.ts"
import type { TonTransaction } from "../node/TonTransaction.ts"
import type { TonAuthorization } from "../payment/TonAuthorization.ts"
import * as TonHistory from "./TonHistory.ts"
import * as TonTransferEvidence from "./TonTransferEvidence.ts"

/** Searches for payers' transactions. */
export interface TonSearches {
  /**
   * The transaction that carried a payment's request out, in the history that ends with this account's newest transaction;
   * `undefined` proves that none did. The account's number must be past the request's.
   */
  readonly find: (
    payment: Payment<TonAuthorization>,
    account: TonRpc.Account
  ) => Effect.Effect<TonTransaction | undefined, ChainUnavailable>
  /** Whether a payment is due to be looked for again, which counts as an attempt; `isLate` after the free attempts. */
  readonly isDue: (signed: TonAuthorization) => Effect.Effect<{ readonly isDue: boolean; readonly isLate: boolean }>
  /** Forgets a payment that has ended. */
  readonly forget: (signed: TonAuthorization) => Effect.Effect<void>
}

/** Payments that are remembered. */
const capacity = 10_000
/** Attempts without a pause: a payment that goes well needs fewer. */
const freeAttempts = 16
/** Pauses between later attempts, in milliseconds: doubled each time, up to the longest. */
const firstPause = 1_000
const longestPause = 60_000

interface Attempts {
  count: number
  /** Unix milliseconds. */
  next: number
  pause: number
}

/** Key with the payer: the same request may be signed for two wallets of one key. */
const keyOf = ({ nonce, payer }: TonAuthorization): string => `${payer} ${nonce}`

/** Makes the searches over a node. */
export const make = (rpc: TonRpc.TonRpc): TonSearches => {
  const positions = BoundedMap.oldestOut<string, TonHistory.HistoryPosition>(capacity)
  const attempts = BoundedMap.oldestOut<string, Attempts>(capacity)
  const find = Effect.fnUntraced(function* (payment: Payment<TonAuthorization>, account: TonRpc.Account) {
    const { payload: signed } = payment
    const found = yield* TonHistory.search(
      rpc,
      signed.payer,
      positions.get(keyOf(signed)) ?? account.last,
      TonHistory.earliestOf(payment),
      (transaction) => TonTransferEvidence.carriesOut(signed, transaction)
    )
    if (found._tag === "Unfinished") {
      positions.set(keyOf(signed), found.from)
      return yield* TonHistory.unfinished(rpc, signed.payer)
    }
    positions.delete(keyOf(signed))
    return found._tag === "Found" ? found.transaction : undefined
  })
  return {
    find,
    isDue: (signed) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const known = attempts.get(keyOf(signed)) ?? { count: 0, next: 0, pause: firstPause }
        if (now < known.next) return { isDue: false, isLate: true }
        const count = known.count + 1
        const isFree = count < freeAttempts
        const pause = isFree ? firstPause : Math.min(known.pause * 2, longestPause)
        attempts.set(keyOf(signed), { count, next: isFree ? 0 : now + known.pause, pause })
        return { isDue: true, isLate: known.count >= freeAttempts }
      }),
    forget: (signed) =>
      Effect.sync(() => {
        positions.delete(keyOf(signed))
        attempts.delete(keyOf(signed))
      })
  }
}
