/**
 * When a record may be forgotten for good, as a pure function that every store shares: everything that anybody has a right
 * to by it is over, and has been for some time.
 *
 * With the record goes its name, which keeps its authorization from being taken a second time. By then the chain itself
 * keeps it from that: the validity is over, so no transfer can use the authorization any more, and whoever shows it is
 * told that it has expired before any record is made. A transfer that was made before a record does not count for it.
 * The rule: apps/docs/protocol.md#d22-retention.
 */
import * as Settlement from "../../protocol/Settlement.ts"
import * as Execution from "./Execution.ts"
import { circumstances, type StoredPayment } from "./PaymentStore.ts"

/**
 * Whether all that a record says was over longer ago than `ageMillis`. A record of money that has moved and bought nothing is
 * not forgotten: it is the proof of a debt. Nor is one whose block may still be taken back.
 */
export const isForgettable = (payment: StoredPayment, now: number, ageMillis: number): boolean =>
  hasEnded(payment) && !isOwed(payment, now) && now - overSince(payment) > ageMillis

/** Whether a record is younger than this, and with it all that were made after it. */
export const isYoung = ({ history }: StoredPayment, now: number, ageMillis: number): boolean =>
  now - (history[0]?.at ?? 0) <= ageMillis

const hasEnded = ({ status }: StoredPayment): boolean => status === "final" || Settlement.isDead(status)

const isOwed = (payment: StoredPayment, now: number): boolean => {
  const at = circumstances(payment, now)
  if (at.settledAt === undefined) return Execution.isHeld(payment.execution, now)
  const standing = Execution.standing(payment.execution, at)
  return payment.answerOwed || (standing !== "served" && standing !== "free")
}

/** The end of the validity, and of the last change. What was paid and may still be asked for is owed. */
const overSince = (payment: StoredPayment): number => {
  const { authorization, history, execution: run } = payment
  return Math.max(
    authorization.validBefore * 1000,
    history.at(-1)?.at ?? 0,
    run.releasedAt ?? 0,
    run.holder?.until ?? 0
  )
}
