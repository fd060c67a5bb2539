/**
 * Records as the connection of a file would read them at this moment, remembered so that it need not be asked. That can be
 * known, because nobody else writes to the file. Whoever writes or reads a record keeps it here; when the database takes
 * writes back, what was kept since then is forgotten. Forgetting is always right: what is not remembered is read again.
 */
import type { PaymentStore } from "@pontage/core"

type Stored = PaymentStore.StoredPayment

/**
 * The records that are remembered. `begin`, `savepoint`, `rollbackTo`, `rollback` and `commit` follow the transaction of
 * the same words.
 */
export interface RecordImage {
  readonly find: (paymentId: string) => Stored | undefined
  readonly findSerial: (serial: bigint) => Stored | undefined
  readonly keep: (payment: Stored) => void
  readonly forget: (paymentId: string) => void
  /** Whether all that it holds is in the file for good: no transaction is open, nor one whose end is not known yet. */
  readonly isDurable: () => boolean
  readonly begin: () => void
  /** A point that `rollbackTo` goes back to. */
  readonly savepoint: () => number
  readonly rollbackTo: (savepoint: number) => void
  readonly rollback: () => void
  readonly commit: () => void
}

/** So many records: those of payments that are not final yet, of a few kilobytes each. */
const remembered = 10_000

/** Makes an empty image. It holds so many records at most: the last ones that were new to it. */
export const make = (limit: number = remembered): RecordImage => {
  const byId = new Map<string, Stored>()
  const bySerial = new Map<bigint, Stored>()
  /** The names of what was kept in the transaction at hand, in order; outside of one, what is kept stays. */
  let kept: Array<string> | undefined
  const forget = (paymentId: string): void => {
    const known = byId.get(paymentId)
    if (known === undefined) return
    byId.delete(paymentId)
    bySerial.delete(known.serial)
  }
  const rollbackTo = (savepoint: number): void => kept?.splice(savepoint).forEach(forget)
  return {
    find: (paymentId) => byId.get(paymentId),
    findSerial: (serial) => bySerial.get(serial),
    keep: (payment) => {
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
    }
  }
}
