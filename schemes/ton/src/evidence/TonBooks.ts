/**
 * What each relayed payment cost, once its end is seen: what was attached, its share of the external message, what came
 * back; and who is to be avoided because the money was lost on the way.
 */
import type { Payment } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Effect from "effect/Effect"

import type { TonTransaction } from "../node/TonTransaction.ts"
import type { TonAuthorization } from "../payment/TonAuthorization.ts"
import type { Blame, TonLosses } from "../sending/TonLosses.ts"
import type { TonTransfer } from "./TonTransfer.ts"

/** What a payment has cost its relayer, once its end is seen. */
export interface TonExpense {
  readonly payer: string
  readonly nonce: string
  /** As the payment is named: its credit, or the external message that brought it; hexadecimal. */
  readonly transaction: string
  /** What was attached to it, in nanotons. */
  readonly attached: bigint
  /** Its share of what the external message itself cost. */
  readonly fees: bigint
  /** What came back. */
  readonly returned: bigint
  readonly isSettled: boolean
}

/** The relayer's transaction, and the name of the payment. */
export interface Relayed {
  readonly lane: string
  readonly name: string
  readonly transaction: TonTransaction
}

type Paying = Payment<TonAuthorization>

/** The books. */
export interface TonBooks {
  /** Enters the end of a payment whose request was carried out, once. `last` is the transaction it ended with. */
  readonly enter: (
    payment: Paying,
    relayed: Relayed,
    last: TonTransaction,
    way: Exclude<TonTransfer, { readonly _tag: "Underway" }>
  ) => Effect.Effect<void>
  /**
   * Enters that the payer's wallet did not carry our request out, once; `refusing` is the wallet's transaction. The money is
   * lost in any case; where somebody else's message settled the payment, it is held against nobody.
   */
  readonly enterRefused: (
    payment: Paying,
    relayed: Relayed,
    refusing: TonTransaction,
    isSettled: boolean
  ) => Effect.Effect<void>
  /**
   * Enters that a payer's own message was never carried out, once: the relayer's share of its message, in nanotons, is lost. It
   * is held against the payer where the payer has used the number for another one.
   */
  readonly enterUnused: (payment: Paying, cost: bigint, isBlamed: boolean) => Effect.Effect<void>
}

/** So many payments are known as entered. */
const capacity = 50_000

/** Opens the books. */
export const make = (losses: TonLosses, onExpense: (expense: TonExpense) => void): TonBooks => {
  const entered = BoundedMap.oldestOut<string, true>(capacity)
  const once = ({ payload: { nonce, payer } }: Paying, enter: () => Effect.Effect<void>) =>
    Effect.suspend(() => {
      const id = `${payer} ${nonce}`
      if (entered.has(id)) return Effect.void
      entered.set(id, true)
      return enter()
    })
  const told = (expense: TonExpense): bigint => {
    onExpense(expense)
    return expense.attached + expense.fees - expense.returned
  }
  return {
    enter: (payment, relayed, last, way) =>
      once(payment, () => {
        const lost = told(expenseOf(payment.payload, relayed, last, way._tag === "Credited"))
        return way._tag === "Credited"
          ? losses.settle(payment)
          : losses.lose(payment, lost, { culprit: way.culprit, gravity: "grave" })
      }),
    enterRefused: (payment, relayed, refusing, isSettled) =>
      once(payment, () => {
        const lost = told(expenseOf(payment.payload, relayed, refusing, isSettled))
        const blame = { culprit: payment.payload.payer, gravity: gravityOf(refusing) }
        return losses.lose(payment, lost, isSettled ? undefined : blame)
      }),
    enterUnused: (payment, cost, isBlamed) =>
      once(payment, () =>
        losses.lose(payment, cost, isBlamed ? { culprit: payment.payload.payer, gravity: "slight" } : undefined)
      )
  }
}

/** Exit codes of a W5 whose number was used meanwhile, and of one that got the request too late. */
const hasty = new Set([133, 136])

/**
 * A wallet that refuses because its number is used or the time is over sends nearly all of the money back, and its owner may
 * have been in a hurry. One that takes a request and sends nothing keeps the money: nobody does that by accident.
 */
const gravityOf = ({ exitCode }: TonTransaction): Blame["gravity"] => (hasty.has(exitCode) ? "slight" : "grave")

/** A payment's share of what the relayer's message itself cost. */
export const shareOf = ({ cost, sent }: TonTransaction): bigint =>
  (cost - sent.reduce((sum, { value }) => sum + value, 0n)) / BigInt(sent.length || 1)

const expenseOf = (
  { body, nonce, payer, transfer: { responseTo } }: TonAuthorization,
  { lane, name, transaction }: Relayed,
  last: TonTransaction,
  isSettled: boolean
): TonExpense => {
  const hash = body.hash()
  const attached = transaction.sent.find((one) => one.to === payer && one.body.hash().equals(hash))?.value ?? 0n
  const returned = last.sent.reduce((sum, { to, value }) => (to === lane || to === responseTo ? sum + value : sum), 0n)
  return { payer, nonce, transaction: name, attached, fees: shareOf(transaction), returned, isSettled }
}
