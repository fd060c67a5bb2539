/**
 * A payer's balance and the payments that count on it: whenever a record begins to reserve its part, the store says whether
 * the others leave room for it, and the chain how much there is. What does not fit now may fit when the others have settled.
 *
 * The store names the payer's open payments before the chain is asked for the balance, and judges both together. Asked the
 * other way round, a payment that lands in between would be counted by neither: its money is still in the balance, and it
 * reserves nothing any more.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type { Authorization } from "../../protocol/Authorization.ts"
import { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { Cover, OpenPayments, Overdrawn } from "../store/PaymentStore.ts"

/** How often, and how many times, a balance that other payments hold is looked at again before giving up. */
const pause = Duration.millis(250)
const looks = 20

/**
 * What is asked for: the payment's terms, the payer's payments that are open now, and the payer's balance on the chain.
 * `examinedBeside` are those that were open before the chain was last asked whether the payment can be made.
 */
export interface Wanted<E, F> {
  readonly authorization: Pick<Authorization, "amount" | "payer">
  readonly open: Effect.Effect<OpenPayments, E>
  readonly balance: Effect.Effect<bigint, F>
  readonly openBefore?: OpenPayments | undefined
}

/**
 * Asks the store until the balance covers the payment beside the others: first without knowing it, which is enough where
 * nothing else is reserved. `tooLittle` is the failure of a balance that would not cover it alone; where it is left out, that
 * is no verdict, because the payment's own transfer may have moved the money already.
 */
export const ask = Effect.fnUntraced(function* <A extends { readonly _tag: string }, E, F, G = never>(
  { authorization: { amount, payer }, balance, openBefore, open }: Wanted<E, F>,
  question: (cover: Cover) => Effect.Effect<A | Overdrawn, E>,
  tooLittle?: (available: bigint) => G
): Effect.fn.Return<A, E | F | G | FacilitatorUnavailable> {
  let cover: Cover = { beside: openBefore }
  for (let look = 0; look < looks; look++) {
    const answer = yield* question(cover)
    if (!isOverdrawn(answer)) return answer
    if (look > 0) yield* Effect.sleep(pause)
    const beside = yield* open
    const available = yield* balance
    cover = { available, beside }
    if (available < amount) return yield* Effect.fail(tooLittle?.(available) ?? held(payer))
  }
  return yield* held(payer)
})

const held = (payer: string) =>
  new FacilitatorUnavailable({
    message: `other payments of ${payer} are on their way and hold its balance; send the same payment again when they have settled`
  })

const isOverdrawn = (answer: { readonly _tag: string }): answer is Overdrawn => answer._tag === "Overdrawn"
