/**
 * What each relayed payment cost, once its end is seen: what was attached, its share of the external message, what came
 * back; and who is to be avoided because the money was lost on the way.
 */
import * as Effect from "effect/Effect"

import type { TonAuthorization } from "./TonAuthorization.ts"
import type { TonLosses } from "./TonLosses.ts"
import type { TonTransaction } from "./TonTransaction.ts"
import type { TonTransfer } from "./TonTransfer.ts"

/**
 * What a payment has cost its relayer, once its end is seen.
 *
 * @category models
 */
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

/**
 * The relayer's transaction, and the name of the payment.
 *
 * @category models
 */
export interface Relayed {
  readonly lane: string
  readonly name: string
  readonly transaction: TonTransaction
}

/**
 * The books.
 *
 * @category models
 */
export interface TonBooks {
  /**
   * Enters a payment's end, once. `last` is the transaction it ended with; without a way it is the payer's wallet's, which
   * did not carry the request out.
   */
  readonly enter: (
    authorization: TonAuthorization,
    relayed: Relayed,
    last: TonTransaction,
    way: Exclude<TonTransfer, { readonly _tag: "Underway" }> | undefined
  ) => Effect.Effect<void>
}

/** So many payments are known as entered. */
const capacity = 50_000

/**
 * Opens the books.
 *
 * @category constructors
 */
export const make = (losses: TonLosses, onExpense: (expense: TonExpense) => void): TonBooks => {
  const entered = new Set<string>()
  return {
    enter: (authorization, relayed, last, way) =>
      Effect.suspend(() => {
        const { nonce } = authorization
        if (entered.has(nonce)) return Effect.void
        const [oldest] = entered
        if (entered.size >= capacity && oldest !== undefined) entered.delete(oldest)
        entered.add(nonce)
        const expense = expenseOf(authorization, relayed, last, way?._tag === "Credited")
        onExpense(expense)
        const lost = expense.attached + expense.fees - expense.returned
        if (way === undefined) return losses.note(authorization.payer, lost, "slight")
        return way._tag === "Credited" ? Effect.void : losses.note(way.culprit, lost, "grave")
      })
  }
}

const expenseOf = (
  { body, nonce, payer, transfer: { responseTo } }: TonAuthorization,
  { lane, name, transaction: { cost, sent } }: Relayed,
  last: TonTransaction,
  isSettled: boolean
): TonExpense => {
  const hash = body.hash()
  const attached = sent.find((one) => one.to === payer && one.body.hash().equals(hash))?.value ?? 0n
  const own = cost - sent.reduce((sum, { value }) => sum + value, 0n)
  const returned = last.sent.reduce((sum, { to, value }) => (to === lane || to === responseTo ? sum + value : sum), 0n)
  return { payer, nonce, transaction: name, attached, fees: own / BigInt(sent.length || 1), returned, isSettled }
}
