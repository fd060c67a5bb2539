/**
 * A payer's balance and the payments that depend on it. Whenever a record begins to reserve its part, the store judges whether the
 * other payments leave room for it, by the balance on the chain. A payment without room now may have room once the others have
 * settled.
 *
 * The store names the payer's open payments before the chain is queried for the balance, and judges both together. In the other order a
 * payment that is included in between would be counted by neither: its money is still in the balance, and it reserves nothing any more.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type { Authorization } from "../../protocol/Authorization.ts"
import { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { Cover, OpenPayments, Overdrawn } from "../store/PaymentStore.ts"

/** The pause between two looks at a balance that other payments hold, and the number of looks before giving up. */
const pause = Duration.millis(250)
const looks = 20

/**
 * The payment's terms, the query for the payer's open payments, and the query for the payer's balance on the chain.
 * `examinedBeside` are the payments that were open before the payment was last verified on the chain.
 */
export interface Wanted<E, F> {
  readonly authorization: Pick<Authorization, "amount" | "payer">
  readonly open: Effect.Effect<OpenPayments, E>
  readonly balance: Effect.Effect<bigint, F>
  readonly openBefore?: OpenPayments | undefined
}

/**
 * Repeats a call to the store until the balance covers the payment beside the others: first without a balance, which is enough if
 * nothing else is reserved. `tooLittle` judges a balance that would not cover the payment alone, and fails with a verdict; a balance by
 * itself gives none, because the payment's own transfer, sent by a third party, may have moved the money already.
 */
export const ask = Effect.fnUntraced(function* <A extends { readonly _tag: string }, E, F, G = never>(
  { authorization: { amount, payer }, balance, openBefore, open }: Wanted<E, F>,
  call: (cover: Cover) => Effect.Effect<A | Overdrawn, E>,
  tooLittle?: (available: bigint) => Effect.Effect<unknown, G>
): Effect.fn.Return<A, E | F | G | FacilitatorUnavailable> {
  let cover: Cover = { beside: openBefore }
  for (let look = 0; look < looks; look++) {
    const result = yield* call(cover)
    if (!isOverdrawn(result)) return result
    if (look > 0) yield* Effect.sleep(pause)
    const beside = yield* open
    const available = yield* balance
    cover = { available, beside }
    if (available < amount) return yield* Effect.andThen(tooLittle?.(available) ?? Effect.void, held(payer))
  }
  return yield* held(payer)
})

const held = (payer: string) =>
  new FacilitatorUnavailable({
    message: `other payments of ${payer} are on their way and hold its balance; send the same payment again when they have settled`
  })

const isOverdrawn = (result: { readonly _tag: string }): result is Overdrawn => result._tag === "Overdrawn"
