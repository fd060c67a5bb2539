/**
 * The changes of a payment's record, as pure functions that every store shares: a store decides whether a change
 * applies, and keeps its result.
 */
import type { PaymentError } from "../../protocol/PaymentError.ts"
import { refuse } from "../../protocol/PaymentError.ts"
import { isDead, isSettled } from "../../protocol/Settlement.ts"
import type { PreparedTransaction } from "../../scheme/SchemeFacilitator.ts"
import type { Claim, ExecutionEnd } from "../Facilitator.ts"
import * as Delivery from "./Delivery.ts"
import * as Execution from "./Execution.ts"
import type { StateChange, ClaimResult, NewPayment, NoticeStatus, ProvenUnused, StoredPayment } from "./PaymentStore.ts"
import { circumstances, deliveredNotice, isNotified } from "./PaymentStore.ts"
import * as Presentation from "./Presentation.ts"

/** The record of a new payment. `now` is Unix milliseconds, here and below. */
export const created = (
  payment: NewPayment,
  claim: Claim | undefined,
  serial: bigint,
  lane: string | undefined,
  now: number
): StoredPayment => ({
  ...payment,
  ...(payment.delivery && { delivery: Delivery.recorded(payment.delivery, now) }),
  serial,
  status: "accepted",
  transaction: "",
  block: undefined,
  lane,
  laneNumber: undefined,
  since: undefined,
  refusal: undefined,
  execution: Execution.make(claim, now),
  // A caller without a claim is owed the answer from now on: a process that ends before it has answered leaves the debt
  // on record.
  answerOwed: claim === undefined,
  history: [{ status: "accepted", at: now }]
})

/** Applies a claim to a payment on record: the verdict, and the new record. */
export const claimed = (
  known: StoredPayment,
  presented: NewPayment,
  claim: Claim | undefined,
  now: number
): Exclude<ClaimResult, { readonly _tag: "Overdrawn" | "Unstocked" }> => {
  if (!Presentation.isOf(presented, known)) return { _tag: "Different", payment: known }
  if (claim === undefined) return { _tag: "Claimed", created: false, execution: undefined, payment: known }
  const [execution, run] = Execution.claim(known.execution, claim, circumstances(known, now))
  return {
    _tag: "Claimed",
    created: false,
    execution,
    payment: run === known.execution ? known : { ...known, execution: run }
  }
}

/** The record after the end of an execution. */
export const finished = (known: StoredPayment, claimId: string, outcome: ExecutionEnd, now: number): StoredPayment => {
  const run = Execution.finish(known.execution, claimId, outcome, circumstances(known, now))
  return run === known.execution ? known : { ...known, execution: run }
}

/**
 * The record after a call without a claim has asked for the owed answer. The call gets it if it then holds the
 * execution.
 */
export const answerTaken = (known: StoredPayment, call: string, now: number): StoredPayment =>
  known.answerOwed
    ? { ...known, answerOwed: false, execution: { ...known.execution, holder: { claimId: call, until: now } } }
    : known

/** The record after the call that took the answer could not deliver it. */
export const answerReturned = (known: StoredPayment, call: string): StoredPayment =>
  isAnsweredTo(known, call)
    ? { ...known, answerOwed: true, execution: { ...known.execution, holder: undefined } }
    : known

/** Whether this call without a claim took the payment's answer. */
export const isAnsweredTo = ({ answerOwed, execution: run }: StoredPayment, call: string): boolean =>
  !answerOwed && run.resource === undefined && run.holder?.claimId === call

/**
 * The record after its lane transaction has begun. `since` is set once: a transfer seen between two lane transactions
 * is the payment's own.
 */
export const planned = (
  known: StoredPayment,
  laneNumber: bigint,
  prepared: PreparedTransaction,
  now: number
): StoredPayment => ({
  ...known,
  status: "planned",
  transaction: prepared.transaction,
  laneNumber,
  since: known.since ?? prepared.head,
  history: [...known.history, { status: "planned", at: now }]
})

/** The record after its lane transaction got a new attempt; a payment that has ended stays as it is. */
export const withNewAttempt = (known: StoredPayment, { transaction }: PreparedTransaction): StoredPayment =>
  isPending(known) ? { ...known, transaction } : known

/**
 * The record after a state change that applies to it. The block is kept while the money counts as moved. The refusal is
 * kept while the payment counts as dead; the refusal of a settled payment that opens nothing is kept until our own
 * transaction settles it after a reorganisation.
 */
export const changed = (known: StoredPayment, change: StateChange, now: number): StoredPayment => {
  const { exit, note, to } = change
  return {
    ...known,
    ...(to === "accepted" && { laneNumber: undefined, lane: change.leave === true ? undefined : known.lane }),
    status: to,
    transaction: change.transaction ?? known.transaction,
    block: isSettled(to) ? (change.block ?? known.block) : undefined,
    refusal:
      change.refusal ?? (change.own === true || (isDead(known.status) && !isDead(to)) ? undefined : known.refusal),
    history: [
      ...known.history,
      { status: to, at: now, ...(note !== undefined && { note }), ...(exit !== undefined && { exit }) }
    ]
  }
}

/** Whether no caller wants the payment settled: it waits in no lane, and nothing was sent for it. */
export const isUnwanted = ({ lane, status }: StoredPayment): boolean => status === "accepted" && lane === undefined

/**
 * The end of a payment that is proven unused. With the reason why its transfer was not made it is `failed` if a transaction was
 * prepared for it, and `rejected` if none was; without a reason its validity is over, and it is `expired`.
 */
export const endUnused = (known: StoredPayment, { at, reason }: Unused): StateChange => ({
  paymentId: known.paymentId,
  from: [known.status],
  to: reason === undefined ? "expired" : known.since === undefined ? "rejected" : "failed",
  refusal: reason ?? (isUnwanted(known) ? (known.history.length === 1 ? unwanted : unsettled) : unused),
  note: at === undefined ? "it was never sent, and never will be" : `unused at block ${at.number}, which is final`
})

/** The proof, without the payment's name. */
type Unused = Omit<ProvenUnused, "paymentId">

const unused: PaymentError = refuse(
  "EXPIRED_PAYMENT",
  "unused",
  "the authorization's validity ended before it was used on the chain; no money has moved, sign a new one"
)

const unwanted: PaymentError = refuse(
  "EXPIRED_PAYMENT",
  "never_wanted",
  "its settlement was not requested in time; no money has moved, sign a new one"
)

/** Whether it waited in a lane once and was not sent there. */
const unsettled: PaymentError = refuse(
  "EXPIRED_PAYMENT",
  "not_settled",
  "its settlement was not started in time; no money has moved, sign a new one"
)

/** Whether the payment is in its lane's queue. */
export const isWaiting = ({ lane, status }: StoredPayment): boolean => status === "accepted" && lane !== undefined

/** Whether a transaction that may move its money is pending. */
export const isPending = ({ status }: StoredPayment): boolean => status === "planned" || status === "sent"

/**
 * Whether a waiting caller can act on the change. Its creation, planning and sending do not count: its end or its
 * return is still to come, and each look at the records costs.
 */
export const isActionable = (before: StoredPayment | undefined, after: StoredPayment): boolean =>
  before !== undefined && (before.status === after.status || !isPending(after))

/** The state to notify the caller of, if any: reached for the first time, for a caller that wants notices. */
export const noticeStatus = (before: StoredPayment | undefined, after: StoredPayment): NoticeStatus | undefined => {
  if (Delivery.isNews(before, after)) return deliveredNotice
  const isNews = before?.history.every(({ status }) => status !== after.status) === true
  return after.notify && isNotified(after.status) && isNews ? after.status : undefined
}
