/**
 * The open payments of payers in memory, all of each payer, equal to what the file's connection would read now: a payer
 * that buys again costs no query. Like the records' image it holds because no other process writes the file, and
 * forgetting is always safe.
 */
import type { PaymentStore } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"

import { legible } from "../database/SqlDialect.ts"
import { isActive, type OpenPayment, payerOf } from "../records/OpenPayment.ts"

type Stored = PaymentStore.StoredPayment
type NewPayment = PaymentStore.NewPayment

/** A payer whose open payments are all known. */
export interface KnownPayer {
  readonly open: ReadonlyMap<string, OpenPayment>
  /** No payment of the payer has a serial above this one; `undefined` if that is not known. */
  readonly newest: bigint | undefined
}

/** The payers in memory. */
export interface PayerImage {
  readonly find: (payment: NewPayment) => KnownPayer | undefined
  /** These are all open payments of this payment's payer. */
  readonly keep: (payment: NewPayment, open: ReadonlyArray<OpenPayment>) => void
  /** The record is so in the database. */
  readonly note: (payment: Stored) => void
  /** The record was created, and is the newest of all. */
  readonly noteCreated: (payment: Stored) => void
  /** The open payments of this payment's payer with the serial of the newest record of all, if both are known. */
  readonly openPayments: (payment: NewPayment) => PaymentStore.OpenPayments | undefined
  readonly forget: (payment: NewPayment) => void
  readonly forgetAll: () => void
}

/** Default capacity in payers. */
const remembered = 2_000

/** The most open payments of one payer that are kept. */
const openAtMost = 32

interface Entry {
  readonly open: Map<string, OpenPayment>
  newest: bigint | undefined
}

/** Makes an empty image of this capacity. */
export const make = (limit: number = remembered): PayerImage => {
  const payers = BoundedMap.oldestOut<string, Entry>(limit)
  let newestOfAll: bigint | undefined
  const noteIn = (key: string, payment: Stored): void => {
    const open = payers.get(key)?.open
    if (open === undefined) return
    const id = legible(payment.paymentId)
    if (!isActive(payment)) open.delete(id)
    else open.set(id, reservingOf(id, payment))
    if (open.size > openAtMost) payers.delete(key)
  }
  return {
    find: (payment) => payers.get(keyOf(payment)),
    keep: (payment, open) => {
      if (open.length > openAtMost) return
      payers.set(keyOf(payment), { open: new Map(open.map((one) => [one.paymentId, one])), newest: undefined })
    },
    note: (payment) => noteIn(keyOf(payment), payment),
    noteCreated: (payment) => {
      const key = keyOf(payment)
      newestOfAll = payment.serial
      noteIn(key, payment)
      const known = payers.get(key)
      if (known !== undefined) known.newest = payment.serial
    },
    openPayments: (payment) => {
      const known = payers.get(keyOf(payment))
      if (known === undefined || newestOfAll === undefined) return undefined
      return {
        amounts: new Map([...known.open.values()].map(({ amount, paymentId }) => [paymentId, amount])),
        newest: newestOfAll
      }
    },
    forget: (payment) => void payers.delete(keyOf(payment)),
    forgetAll: () => {
      payers.clear()
      newestOfAll = undefined
    }
  }
}

/** The payer as the database's texts name it. */
const keyOf = (payment: NewPayment): string => payerOf(payment).map(legible).join("\n")

const reservingOf = (paymentId: string, { authorization, execution, lane, status }: Stored): OpenPayment => ({
  paymentId,
  amount: authorization.amount,
  status,
  lane,
  execution
})
