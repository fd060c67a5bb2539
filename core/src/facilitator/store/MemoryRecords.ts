/** The payments of a memory store: by id in the order of their serials, and by payer. */
import { isDead, isSettled } from "../../protocol/Settlement.ts"
import * as Delivery from "./Delivery.ts"
import * as PaymentChange from "./PaymentChange.ts"
import { type NewPayment, type OpenPayments, reserves, type StoredPayment } from "./PaymentStore.ts"

/**
 * Age in milliseconds after the end of its authorization at which a record is dropped: far beyond the entitlement, so
 * nothing is owed, and as long as payers ask about payments in doubt.
 */
export const retentionMillis = 24 * 3_600_000

/** Number of records checked for dropping for each one added: the sweep keeps up and never delays a request. */
const sweepPerClaim = 2

/** The records. */
export interface MemoryRecords {
  readonly find: (paymentId: string) => StoredPayment | undefined
  readonly all: () => Iterable<StoredPayment>
  readonly nextSerial: () => bigint
  readonly lastSerial: () => bigint
  readonly put: (payment: StoredPayment) => void
  readonly openPayments: (payment: NewPayment) => OpenPayments
  /** The amount that the payer's open payments reserve, plus those that have ended since `beside` was read. */
  readonly reservedBy: (payment: NewPayment, beside: OpenPayments | undefined, now: number) => bigint
  /** Drops a few of the oldest records that are no longer needed. */
  readonly sweep: (now: number, isNeeded: (payment: StoredPayment) => boolean) => void
  readonly drop: (payment: StoredPayment) => void
}

/** Makes empty records. */
export const make = (): MemoryRecords => {
  const payments = new Map<string, StoredPayment>()
  /** Payments that may reserve a part of their payer's balance: the open ones. */
  const byPayer = new Map<string, Set<string>>()
  /** The place of the sweep. */
  const aging = new Set<string>()
  const bySerial = new Map<bigint, StoredPayment>()
  let serial = 0n

  const hold = (payment: StoredPayment) => {
    const key = payerKey(payment)
    byPayer.set(key, (byPayer.get(key) ?? new Set()).add(payment.paymentId))
  }
  const letGo = (payment: StoredPayment) => {
    const siblings = byPayer.get(payerKey(payment))
    siblings?.delete(payment.paymentId)
    if (siblings?.size === 0) byPayer.delete(payerKey(payment))
  }
  const drop = (payment: StoredPayment) => {
    payments.delete(payment.paymentId)
    bySerial.delete(payment.serial)
    letGo(payment)
  }
  const openIds = (payment: NewPayment): ReadonlySet<string> => byPayer.get(payerKey(payment)) ?? new Set()
  const endedSince = (payment: NewPayment, { amounts, newest }: OpenPayments): bigint => {
    const open = openIds(payment)
    let total = 0n
    for (const [id, amount] of amounts) if (!open.has(id)) total += amount
    for (let next = newest + 1n; next <= serial; next++) {
      const one = bySerial.get(next)
      const isPayers = one !== undefined && payerKey(one) === payerKey(payment)
      if (isPayers && !open.has(one.paymentId)) total += one.authorization.amount
    }
    return total
  }

  return {
    find: (paymentId) => payments.get(paymentId),
    all: () => payments.values(),
    nextSerial: () => ++serial,
    lastSerial: () => serial,
    put: (payment) => {
      if (!payments.has(payment.paymentId)) aging.add(payment.paymentId)
      payments.set(payment.paymentId, payment)
      bySerial.set(payment.serial, payment)
      if (isSettled(payment.status) || isDead(payment.status)) letGo(payment)
      else hold(payment)
    },
    openPayments: (payment) => {
      const amounts = new Map<string, bigint>()
      for (const id of openIds(payment)) amounts.set(id, payments.get(id)?.authorization.amount ?? 0n)
      return { amounts, newest: serial }
    },
    reservedBy: (payment, beside, now) => {
      let total = beside === undefined ? 0n : endedSince(payment, beside)
      for (const id of openIds(payment)) {
        const other = payments.get(id)
        if (other !== undefined && reserves(other, now)) total += other.authorization.amount
      }
      return total
    },
    sweep: (now, isNeeded) => {
      for (const id of firstOf(aging, sweepPerClaim)) {
        const payment = payments.get(id)
        // A record that is still needed does not stop the sweep of those behind it.
        aging.delete(id)
        if (payment === undefined) continue
        if (isRecent(payment, now) || isUnderWay(payment) || isNeeded(payment)) aging.add(id)
        else drop(payment)
      }
    },
    drop
  }
}

const payerKey = ({ authorization, requirements }: NewPayment) =>
  `${requirements.network} ${authorization.asset} ${authorization.payer}`

/** A push is valid for as long as its message, which says nothing about its age: its last change does. */
const isRecent = ({ authorization, history, requirements }: StoredPayment, now: number): boolean =>
  now <=
  (Delivery.isPush(requirements) ? (history.at(-1)?.at ?? 0) : authorization.validBefore * 1000) + retentionMillis

/**
 * Another party may have moved the money of any accepted payment, so only its end allows dropping it; and so does only the end of its
 * delivery.
 */
const isUnderWay = (payment: StoredPayment): boolean =>
  PaymentChange.isPending(payment) ||
  payment.status === "accepted" ||
  (isSettled(payment.status) && Delivery.isOpen(payment))

/** The first `limit` elements. */
export function* firstOf<A>(all: Iterable<A>, count: number): Generator<A> {
  let left = count
  for (const one of all) {
    if (left-- <= 0) return
    yield one
  }
}
