/**
 * Searches for the transaction of a payer's wallet that carried a request out, once the wallet has used the request's
 * number: from then on the history holds that transaction already, or never will. A long history is looked through in
 * pieces, each look going on where the last one stopped. And looks that show nothing become rare, so that a payment that
 * hangs until the end of its validity costs a node next to nothing.
 */
import type { ChainUnavailable, Payment } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type * as TonRpc from "../node/TonRpc.ts"
import type { TonTransaction } from "../node/TonTransaction.ts"
import type { TonAuthorization } from "../payment/TonAuthorization.ts"
import * as TonHistory from "./TonHistory.ts"
import * as TonTransfer from "./TonTransfer.ts"

/** The searches. */
export interface TonSearches {
  /**
   * The transaction that carried a payment's request out, in the history that ends with this account's newest transaction;
   * `undefined` is proof that there is none. The account's number has to be past the request's.
   */
  readonly find: (
    payment: Payment<TonAuthorization>,
    account: TonRpc.Account
  ) => Effect.Effect<TonTransaction | undefined, ChainUnavailable>
  /** Whether it is time to look for a payment again, which counts as a look; and whether that has been waited for. */
  readonly isDue: (held: TonAuthorization) => Effect.Effect<{ readonly isDue: boolean; readonly isLate: boolean }>
  /** The payment is over. */
  readonly forget: (held: TonAuthorization) => Effect.Effect<void>
}

/** So many payments are remembered. */
const capacity = 10_000
/** So many looks are free: a payment that goes well needs fewer. */
const freeLooks = 16
/** Between later looks, in milliseconds: doubled each time, up to the longest. */
const firstPause = 1_000
const longestPause = 60_000

interface Looks {
  count: number
  /** Unix milliseconds. */
  next: number
  pause: number
}

/** The same words may be signed for two wallets of one key. */
const keyOf = ({ nonce, payer }: TonAuthorization): string => `${payer} ${nonce}`

/** Makes the searches over a node. */
export const make = (rpc: TonRpc.Shape): TonSearches => {
  const places = BoundedMap.oldestOut<string, TonHistory.Place>(capacity)
  const looks = BoundedMap.oldestOut<string, Looks>(capacity)
  const find = Effect.fnUntraced(function* (payment: Payment<TonAuthorization>, account: TonRpc.Account) {
    const { payload: held } = payment
    const found = yield* TonHistory.search(
      rpc,
      held.payer,
      places.get(keyOf(held)) ?? account.last,
      TonHistory.beginningOf(payment),
      (transaction) => TonTransfer.carriesOut(held, transaction)
    )
    if (found._tag === "Unfinished") {
      places.set(keyOf(held), found.from)
      return yield* TonHistory.unfinished(rpc, held.payer)
    }
    places.delete(keyOf(held))
    return found._tag === "Found" ? found.transaction : undefined
  })
  return {
    find,
    isDue: (held) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const known = looks.get(keyOf(held)) ?? { count: 0, next: 0, pause: firstPause }
        if (now < known.next) return { isDue: false, isLate: true }
        const count = known.count + 1
        const isFree = count < freeLooks
        const pause = isFree ? firstPause : Math.min(known.pause * 2, longestPause)
        looks.set(keyOf(held), { count, next: isFree ? 0 : now + known.pause, pause })
        return { isDue: true, isLate: known.count >= freeLooks }
      }),
    forget: (held) =>
      Effect.sync(() => {
        places.delete(keyOf(held))
        looks.delete(keyOf(held))
      })
  }
}
