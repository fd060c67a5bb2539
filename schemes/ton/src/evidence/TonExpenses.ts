/**
 * Records the cost of each relayed payment when it has ended: the TON attached, its share of the external message, the TON
 * returned; and blames the account at fault where the money was lost on the way.
 */
import type { Payment } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Effect from "effect/Effect"

import type { TonTransaction } from "../node/TonTransaction.ts"
import type { TonAuthorization } from "../payment/TonAuthorization.ts"
import type { Blame, TonLosses } from "../sending/TonLosses.ts"
import type { TonTransferEvidence } from "./TonTransferEvidence.ts"

/** Cost of a payment for its relayer, known when the payment has ended. */
export interface TonExpense {
  readonly payer: string
  readonly nonce: string
  /** Name of the payment: the hash of its credit, or of the external message that carried it; hexadecimal. */
  readonly transaction: string
  /** TON attached to it, in nanotons. */
  readonly attached: bigint
  /** Its share of the external message's own cost, in nanotons. */
  readonly fees: bigint
  /** TON that came back, in nanotons. */
  readonly returned: bigint
  readonly isSettled: boolean
}

/** The relayer's transaction and the payment's name. */
export interface Relayed {
  readonly lane: string
  readonly name: string
  readonly transaction: TonTransaction
}

type TonPayment = Payment<TonAuthorization>

/** Records expenses, each payment once. */
export interface TonExpenses {
  /** Records a payment whose request was carried out. `last` is the transaction that ended it. */
  readonly record: (
    payment: TonPayment,
    relayed: Relayed,
    last: TonTransaction,
    evidence: Exclude<TonTransferEvidence, { readonly _tag: "Pending" }>
  ) => Effect.Effect<void>
  /**
   * Records a payment whose wallet did not carry our request out; `refusing` is the wallet's transaction. The money is
   * lost in any case; where another account's message settled the payment, the payer is not blamed.
   */
  readonly recordRefused: (
    payment: TonPayment,
    relayed: Relayed,
    refusing: TonTransaction,
    isSettled: boolean
  ) => Effect.Effect<void>
  /**
   * Records a payer's own message that was never carried out: the relayer's share of its message (`cost`, in nanotons) is
   * lost. The payer is blamed where it has used the number for another request.
   */
  readonly recordUnused: (payment: TonPayment, cost: bigint, isBlamed: boolean) => Effect.Effect<void>
}

/** Recorded payments that are remembered. */
const capacity = 50_000

/** Makes the records. Losses go to `losses`, every expense to `onExpense`. */
export const make = (losses: TonLosses, onExpense: (expense: TonExpense) => void): TonExpenses => {
  const recorded = BoundedMap.oldestOut<string, true>(capacity)
  const once = ({ payload: { nonce, payer } }: TonPayment, record: () => Effect.Effect<void>) =>
    Effect.suspend(() => {
      const id = `${payer} ${nonce}`
      if (recorded.has(id)) return Effect.void
      recorded.set(id, true)
      return record()
    })
  const lossOf = (expense: TonExpense): bigint => {
    onExpense(expense)
    return expense.attached + expense.fees - expense.returned
  }
  return {
    record: (payment, relayed, last, evidence) =>
      once(payment, () => {
        const lost = lossOf(expenseOf(payment.payload, relayed, last, evidence._tag === "Credited"))
        return evidence._tag === "Credited"
          ? losses.settle(payment)
          : losses.lose(payment, lost, { culprit: evidence.culprit, gravity: "grave" })
      }),
    recordRefused: (payment, relayed, refusing, isSettled) =>
      once(payment, () => {
        const lost = lossOf(expenseOf(payment.payload, relayed, refusing, isSettled))
        const blame = { culprit: payment.payload.payer, gravity: gravityOf(refusing) }
        return losses.lose(payment, lost, isSettled ? undefined : blame)
      }),
    recordUnused: (payment, cost, isBlamed) =>
      once(payment, () =>
        losses.lose(payment, cost, isBlamed ? { culprit: payment.payload.payer, gravity: "slight" } : undefined)
      )
  }
}

/** Exit codes of a W5 whose number was used meanwhile (133), and of one that got the request after its validity (136). */
const slightExitCodes = new Set([133, 136])

/**
 * Gravity of a refusal. A wallet that refuses because its number is used or the time is over sends nearly all of the money
 * back, and its owner may have been in a hurry. A wallet that takes a request and sends nothing keeps the money: that is no
 * accident.
 */
const gravityOf = ({ exitCode }: TonTransaction): Blame["gravity"] =>
  slightExitCodes.has(exitCode) ? "slight" : "grave"

/** A payment's share of the relayer's message's own cost, in nanotons. */
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
