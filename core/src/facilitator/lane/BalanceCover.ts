/**
 * A payer's balance and the payments that count on it: whenever a record begins to reserve its part, the store says whether
 * the others leave room for it, and the chain how much there is. What does not fit now may fit when the others have settled.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type { Authorization } from "../../protocol/Authorization.ts"
import { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { Overdrawn } from "../store/PaymentStore.ts"

/** How often, and how many times, a balance that other payments hold is looked at again before giving up. */
const pause = Duration.millis(250)
const looks = 20

/**
 * What is asked for: the payment's terms, and the payer's balance on the chain.
 *
 * @category models
 */
export interface Wanted<E> {
  readonly authorization: Pick<Authorization, "amount" | "payer">
  readonly balance: Effect.Effect<bigint, E>
}

/**
 * Asks the store until the balance covers the payment beside the others: first without knowing it, which is enough where
 * nothing else is reserved. `tooLittle` is the failure of a balance that would not cover it alone; where it is left out, that
 * is no verdict, because the payment's own transfer may have moved the money already.
 *
 * @category combinators
 */
export const ask = Effect.fnUntraced(function* <A extends { readonly _tag: string }, E, F, G = never>(
  { authorization: { amount, payer }, balance }: Wanted<F>,
  question: (available: bigint | undefined) => Effect.Effect<A | Overdrawn, E>,
  tooLittle?: (available: bigint) => G
): Effect.fn.Return<A, E | F | G | FacilitatorUnavailable> {
  let available: bigint | undefined
  for (let look = 0; look < looks; look++) {
    const answer = yield* question(available)
    if (!isOverdrawn(answer)) return answer
    if (look > 0) yield* Effect.sleep(pause)
    available = yield* balance
    if (available < amount) return yield* Effect.fail(tooLittle?.(available) ?? held(payer))
  }
  return yield* held(payer)
})

const held = (payer: string) =>
  new FacilitatorUnavailable({
    message: `other payments of ${payer} are on their way and hold its balance; send the same payment again when they have settled`
  })

const isOverdrawn = (answer: { readonly _tag: string }): answer is Overdrawn => answer._tag === "Overdrawn"
