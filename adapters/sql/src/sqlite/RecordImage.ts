/**
 * Records in memory, equal to what the file's connection would read now. That holds because no other process writes the
 * file. Each written or read record is kept here; a rollback forgets what was kept since. Forgetting is always safe: a
 * missing record is read again.
 */
import type { PaymentStore } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Effect from "effect/Effect"

import * as PayerImage from "./PayerImage.ts"
import type { TransactionImage } from "./TransactionImage.ts"

type Stored = PaymentStore.StoredPayment

/** The records in memory. */
export interface RecordImage extends TransactionImage {
  /** The payers' open payments; a rollback forgets them all. */
  readonly payers: PayerImage.PayerImage
  readonly find: (paymentId: string) => Stored | undefined
  readonly findSerial: (serial: bigint) => Stored | undefined
  /** Whether there was no record of this id when it was last looked for, and none was written since. */
  readonly isAbsent: (paymentId: string) => boolean
  /** There is no record of this id, and no transaction is open. */
  readonly noteAbsent: (paymentId: string) => void
  readonly keep: (payment: Stored) => void
  readonly forget: (paymentId: string) => void
}

/** Default capacity in records: the payments that are not final, a few kilobytes each. */
const remembered = 10_000

/** Makes an empty image of this capacity; it keeps the records that were new to it last. */
export const make = (limit: number = remembered): RecordImage => {
  const byId = new Map<string, Stored>()
  const bySerial = new Map<bigint, Stored>()
  const payers = PayerImage.make()
  const absent = BoundedMap.oldestOut<string, true>(limit)
  /** The ids kept in the current transaction, in order; records kept outside of one stay. */
  let kept: Array<string> | undefined
  const forget = (paymentId: string): void => {
    absent.delete(paymentId)
    const known = byId.get(paymentId)
    if (known === undefined) return
    byId.delete(paymentId)
    bySerial.delete(known.serial)
  }
  const rollbackTo = (savepoint: number): void => {
    kept?.splice(savepoint).forEach(forget)
    payers.forgetAll()
  }
  return {
    payers,
    find: (paymentId) => byId.get(paymentId),
    findSerial: (serial) => bySerial.get(serial),
    isAbsent: (paymentId) => absent.has(paymentId),
    noteAbsent: (paymentId) => void absent.set(paymentId, true),
    keep: (payment) => {
      absent.delete(payment.paymentId)
      const [oldest] = byId.size < limit || byId.has(payment.paymentId) ? [] : byId.keys()
      if (oldest !== undefined) forget(oldest)
      byId.set(payment.paymentId, payment)
      bySerial.set(payment.serial, payment)
      kept?.push(payment.paymentId)
    },
    forget,
    isDurable: () => kept === undefined,
    begin: () => {
      kept = []
    },
    savepoint: () => kept?.length ?? 0,
    rollbackTo,
    rollback: () => {
      rollbackTo(0)
      kept = undefined
    },
    commit: () => {
      kept = undefined
    },
    flush: () => Effect.void
  }
}
