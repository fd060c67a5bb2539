/**
 * The age at which a record may be deleted, as a pure function that every store shares: all rights to it are over, and
 * have been for some time.
 *
 * The record's id keeps its authorization from being accepted twice. By then the chain does the same: the validity is
 * over, so no transfer can use the authorization, and a presentation is refused as expired before a record is made. A
 * transfer that was made before a record does not count for it. The rule: apps/docs/protocol.md#d22-retention.
 */
import * as Settlement from "../../protocol/Settlement.ts"
import * as Delivery from "./Delivery.ts"
import * as Execution from "./Execution.ts"
import { circumstances, type StoredPayment } from "./PaymentStore.ts"
import * as Stock from "./Stock.ts"

/**
 * Whether a record was over more than `ageMillis` ago. A record of money that moved and bought nothing is kept: it
 * proves a debt. So is one whose block may still be taken back, and one that counts against a limit for 24 hours.
 */
export const isForgettable = (payment: StoredPayment, now: number, ageMillis: number): boolean =>
  hasEnded(payment) && !isOwed(payment, now) && !Stock.isCounted(payment, now) && now - overSince(payment) > ageMillis

/** Whether a record, and with it every later one, is younger than this. */
export const isYoung = ({ history }: StoredPayment, now: number, ageMillis: number): boolean =>
  now - (history[0]?.at ?? 0) <= ageMillis

const hasEnded = ({ status }: StoredPayment): boolean => status === "final" || Settlement.isDead(status)

/** A delivery that is not over is owed to the payee. A push buys nothing. */
const isOwed = (payment: StoredPayment, now: number): boolean => {
  if (Delivery.isPush(payment.requirements)) return false
  if (Settlement.isSettled(payment.status) && Delivery.isOpen(payment)) return true
  const at = circumstances(payment, now)
  if (at.settledAt === undefined) return Execution.isHeld(payment.execution, now)
  const standing = Execution.standing(payment.execution, at)
  return payment.answerOwed || (standing !== "served" && standing !== "free")
}

/** The later of the end of the validity and the last change. A paid execution that may still be requested is owed. */
const overSince = (payment: StoredPayment): number => {
  const { authorization, delivery, history, execution: run, requirements } = payment
  return Math.max(
    // A push is valid for as long as its message: that says nothing about its age.
    Delivery.isPush(requirements) ? 0 : authorization.validBefore * 1000,
    history.at(-1)?.at ?? 0,
    delivery?.deliveredAt ?? 0,
    run.releasedAt ?? 0,
    run.holder?.until ?? 0
  )
}
