/**
 * The losses of an inventory: payments that their own chain has taken back after the shop was paid. Final blocks are not taken back, so
 * there are none, unless the operator's finality is too short for the chain. A budget then stops the pair. It is in memory.
 */
import {
  type FacilitatorUnavailable,
  LossBudget,
  type Misconfigured,
  type Payment,
  type ValidationError
} from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Effect from "effect/Effect"

type Counted = Pick<Payment, "authorization" | "caller">

/** The losses of one pair, in the smallest unit of its tokens. */
export interface InventoryLosses {
  /** Fails while the losses of 24 hours are above the budget. */
  readonly allow: (payment: Counted) => Effect.Effect<void, ValidationError | FacilitatorUnavailable>
  /** Counts a payment that was taken back after the shop was paid this amount, once; returns whether this call has counted it. */
  readonly lose: (payment: Counted, amount: bigint) => Effect.Effect<boolean>
  /** Takes a counted loss back: the chain shows the payment again. */
  readonly retract: (payment: Counted) => Effect.Effect<void>
}

/** Makes a count that begins at zero. */
export const make = (total: bigint): Effect.Effect<InventoryLosses, Misconfigured> =>
  Effect.map(LossBudget.make({ total, perCaller: total, perPayer: total }), (budget) => {
    const counted = BoundedMap.oldestOut<string, true>(mostRemembered)
    return {
      allow: (payment) => Effect.flatMap(budget.judge({ ...partyOf(payment), amount: 1n }), LossBudget.demand),
      lose: (payment, amount) => {
        const id = idOf(payment)
        const isNew = counted.get(id) === undefined
        counted.set(id, true)
        return Effect.as(budget.lose(id, { ...partyOf(payment), amount }), isNew)
      },
      retract: (payment) => {
        counted.delete(idOf(payment))
        return budget.retract(idOf(payment))
      }
    }
  })

/** The most losses that are remembered, so that each is logged once. */
const mostRemembered = 1_000

const partyOf = ({ authorization: { payer }, caller = "" }: Counted): LossBudget.LossParty => ({ payer, caller })

/** The nonce that the payer's chain uses up, by its token and payer. */
const idOf = ({ authorization: { asset, nonce, payer } }: Counted): string => `${asset} ${payer} ${nonce}`
