/**
 * The facilitator's records, and the one place where an authorization is claimed. A store guarantees atomicity: of any
 * number of concurrent claims on one authorization exactly one creates its record, in this process and in all others
 * that share the store. It guarantees durability: the result of a method is still there after a crash.
 * `testing/PaymentStoreLaws` says the same as executable laws.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

import type { Authorization } from "../../protocol/Authorization.ts"
import type { PaymentError } from "../../protocol/PaymentError.ts"
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import * as RetryToken from "../../protocol/RetryToken.ts"
import * as Settlement from "../../protocol/Settlement.ts"
import type { ValidationError } from "../../protocol/ValidationError.ts"
import type { Block, Inclusion, PreparedTransaction } from "../../scheme/SchemeFacilitator.ts"
import type { Claim, ClaimVerdict, ExecutionEnd, Settled } from "../Facilitator.ts"
import * as Delivery from "./Delivery.ts"
import * as Execution from "./Execution.ts"
import type { Lease, LeaseLost } from "./LaneLeases.ts"
import type { Allowance, NetworkSpend } from "./NetworkSpend.ts"
import type { Signals } from "./Signals.ts"
import type { StockCover, Unstocked } from "./Stock.ts"

export type { OpenDeliveries } from "./Delivery.ts"

/** Everything needed to settle a payment, again after a restart. */
export interface NewPayment {
  readonly paymentId: string
  readonly requirements: PaymentRequirements
  readonly authorization: Authorization
  /** The scheme's JSON as it came. */
  readonly payload: Schema.Json
  /** The caller that presented it; empty if callers are not distinguished. */
  readonly caller: string
  /** Whether its caller is notified of every end (`takeNotices`). */
  readonly notify: boolean
  /** Its delivery, if the money goes on to another network. */
  readonly delivery?: Delivery.Delivery | undefined
}

/** A payment's record. `history` is append-only; its times are Unix milliseconds. */
export interface StoredPayment extends NewPayment {
  /** The order of creation; unique. */
  readonly serial: bigint
  readonly status: Settlement.PaymentState
  /** The transaction that moved the money, or the last one signed to move it; empty before that. */
  readonly transaction: string
  /** The block in which the money moved. */
  readonly block: Block | undefined
  /** The lane (`LaneName`) that it waits in or is settled in; `undefined` while no caller wants it settled. */
  readonly lane: string | undefined
  /** The number of its lane transaction: the current one, or the last one once that has ended. */
  readonly laneNumber: bigint | undefined
  /** The chain head when its first transaction was prepared. */
  readonly since: bigint | undefined
  /**
   * The reason of its refusal: in a dead state, or in a settled one that opens nothing because another party sent the
   * transfer. It stays after a reorganisation of that transfer, and says nothing while the payment has no end.
   */
  readonly refusal: PaymentError | ValidationError | undefined
  readonly execution: Execution.Execution
  /**
   * Whether a caller without a claim is still owed the answer: from the creation of the record until a call takes it
   * (`takeAnswer`). That call then holds the execution.
   */
  readonly answerOwed: boolean
  readonly history: ReadonlyArray<HistoryEntry>
}

/**
 * The reasons for which an unsent payment leaves its lane, as far as decisions depend on them. Another lane may take it
 * at once if the nodes reject the signer's transactions (`signer_refused`) or the signer is no longer configured
 * (`signer_missing`). `payment_refused`: its verification refused it, and nothing proves that its authorization cannot
 * be used.
 */
export const laneExits = ["signer_refused", "signer_missing", "payment_refused"] as const

export type LaneExit = (typeof laneExits)[number]

/** One change of a record's state. `note` is for people; decisions go by `exit`, which callers are not told. */
export type HistoryEntry = Settlement.PaymentRecord["history"][number] & { readonly exit?: LaneExit }

/**
 * The result of a claim. `created` tells whether this call made the record; `execution` is absent for a caller without
 * a claim. `Different`: the presentation does not match the payment on record (`Presentation.isOf`). `Unstocked`: the operator's stock
 * has no room for the delivery of a record that is new, or begins to reserve (`Stock.judge`). `Different`, `Overdrawn` and `Unstocked` write nothing.
 */
export type ClaimResult =
  | {
      readonly _tag: "Claimed"
      readonly created: boolean
      readonly execution: ClaimVerdict | undefined
      readonly payment: StoredPayment
    }
  | { readonly _tag: "Different"; readonly payment: StoredPayment }
  | Overdrawn
  | Unstocked

/** The payer's other pending payments reserve a part of the balance, and this one may not fit into the rest. */
export interface Overdrawn {
  readonly _tag: "Overdrawn"
  readonly reserved: bigint
}

/** The result of queueing a payment in a lane. `Overdrawn` and `Unstocked` write nothing. */
export type QueueResult =
  | { readonly _tag: "Queued"; readonly payment: StoredPayment | undefined }
  | Overdrawn
  | Unstocked

/** A payer's open payments in one asset with their amounts, and the serial of the newest record of all. */
export interface OpenPayments {
  readonly amounts: ReadonlyMap<string, bigint>
  readonly newest: bigint
}

/**
 * The known balance of a payer. `available` is the balance, if the chain was queried; it must cover all that is
 * reserved plus this payment. `beside` are the payer's payments that were open before that query. One of them, or a
 * younger one, that has ended since counts as reserved, because its money may still have been in that balance.
 */
export interface Cover {
  readonly available?: bigint | undefined
  readonly beside?: OpenPayments | undefined
  /** The operator's stock. Without it no record is made, or begins to reserve, that draws on one. */
  readonly stock?: StockCover | undefined
}

/** The inputs of a claim: the payer's balance, and the lane in which a new record is queued at once, if any. */
export interface Intake extends Cover {
  readonly lane?: string | undefined
}

/**
 * One slot of a lane and everything signed for it: enough to send it again, to find it, and to replace it at a higher
 * fee. A family without slots has lane transactions too, one for each transaction.
 */
export interface LaneTransaction {
  /** The lane's name (`LaneName`). */
  readonly lane: string
  readonly number: bigint
  /** Oldest first; the last one is sent. */
  readonly attempts: ReadonlyArray<PreparedTransaction>
  /** In the order in which the transaction settles them. */
  readonly payments: ReadonlyArray<StoredPayment>
  /** The block that includes one of the attempts, if any. */
  readonly inclusion: Inclusion | undefined
}

/** A lane transaction to begin: its payments leave the lane's queue. */
export interface PlannedTransaction {
  readonly number: bigint
  readonly prepared: PreparedTransaction
  /** In the order in which the transaction settles them; empty for a no-op that only uses its slot. */
  readonly paymentIds: ReadonlyArray<string>
}

/**
 * A change of one payment's state, applied only if the record is in one of the states `from`. A change to `accepted`
 * takes the payment out of its transaction: back into the lane's queue, or with `leave` out of the lane.
 */
export interface StateChange {
  readonly paymentId: string
  readonly from: ReadonlyArray<Settlement.PaymentState>
  readonly to: Settlement.PaymentState
  readonly transaction?: string
  readonly block?: Block
  readonly refusal?: PaymentError | ValidationError
  /** With a settled state: our own transaction made the transfer, which lifts a refusal because of another party's. */
  readonly own?: true
  readonly note?: string
  readonly leave?: true
  /** Only with `leave`. */
  readonly exit?: LaneExit
}

/** One write of a lane's worker: state changes of payments, and the outcome of their transaction. */
export interface LaneWrite {
  readonly changes: ReadonlyArray<StateChange>
  readonly transaction?: {
    readonly number: bigint
    /**
     * The block that includes it; `null` if it is no longer in any block. The cost is booked to the payments' callers; an
     * inclusion after another one with the part by which it costs more than that.
     */
    readonly inclusion?: Inclusion | null
    /** The transaction needs no more watching. */
    readonly closed?: true
  }
}

/** The number of payments of one payer, presented by one caller, that wait in a lane. */
export interface QueueShare {
  readonly caller: string
  readonly payer: string
  readonly waiting: number
}

/** A notice to a caller about an end. */
export interface Notice {
  readonly id: string
  /** Number of earlier attempts. */
  readonly attempts: number
  readonly payment: StoredPayment
  /** The state that the notice is about, and when it was reached (Unix milliseconds). */
  readonly status: NoticeStatus
  readonly at: number
}

/** The states that notices are about: those of a payment's transfer, and its delivery to another network. */
export type NoticeStatus = Settlement.PaymentState | typeof deliveredNotice

/** The state of a notice about a delivery. */
export const deliveredNotice = "delivered"

/**
 * The undelivered notices: their number, and the time when the oldest one's state was reached (Unix milliseconds;
 * `undefined` if there are none).
 */
export interface NoticeBacklog {
  readonly count: number
  readonly oldest: number | undefined
}

/** The end of a page of payments that no caller wants settled: the end of a validity in Unix seconds, and a serial. */
export interface UnwantedPlace {
  readonly validBefore: number
  readonly serial: bigint
}

/** A payment that never moves its money, and the final block that proves it. */
export interface ProvenUnused {
  readonly paymentId: string
  /** Absent for a push that was never sent: the facilitator alone sends pushes, so its records prove it. */
  readonly at?: Block | undefined
  /** The reason why its transfer was not made, if it is known. */
  readonly reason?: PaymentError | ValidationError
}

/**
 * The result of a step of forgetting: the number of records forgotten, and the serial to continue after; `undefined` if
 * all that follow are younger.
 */
export interface Forgotten {
  readonly count: number
  readonly next: bigint | undefined
}

type Stored<A> = Effect.Effect<A, FacilitatorUnavailable>
type Fenced<A> = Effect.Effect<A, FacilitatorUnavailable | LeaseLost>

/**
 * The service. Every method is atomic and never fails because of the payment. `FacilitatorUnavailable`: the records
 * cannot be reached, and a write may have happened or not. Times are Unix milliseconds.
 */
export class PaymentStore extends Context.Service<
  PaymentStore,
  {
    /**
     * Hints: a payment's id when its record has changed in a way that a waiting caller can act on
     * (`PaymentChange.isActionable`), a lane's name when a payment waits in it, `noticesTopic` when this process has
     * written a notice.
     */
    readonly signals: Signals
    /** The clock by which the store dates and judges; it may differ from this process's clock. */
    readonly now: Effect.Effect<number>
    readonly find: (paymentId: string) => Stored<StoredPayment | undefined>
    /**
     * Claims an authorization. Without a record it creates one in the state `accepted`; otherwise the presentation is
     * compared with the record and the claim is judged against the execution (`PaymentChange.claimed`). The balance is
     * checked whenever the record begins to reserve (`beginsToReserve`): a known record does so if it was given back,
     * or if its lease has lapsed.
     */
    readonly claim: (payment: NewPayment, claim: Claim | undefined, intake?: Intake) => Stored<ClaimResult>
    /**
     * Queues an `accepted` payment in this lane, unless it waits in one already. The result has no payment if there is
     * no record. The balance is checked as for a claim.
     */
    readonly queue: (paymentId: string, lane: string, cover?: Cover) => Stored<QueueResult>
    /** The payer's open payments in this asset, read before the chain is queried for the balance. */
    readonly openPayments: (payment: NewPayment) => Stored<OpenPayments>
    /**
     * Ends the execution that this claim holds. If `caller` is given, another caller's payment counts as missing: the
     * result is `undefined` and nothing changes.
     */
    readonly finish: (
      paymentId: string,
      claimId: string,
      outcome: ExecutionEnd,
      caller?: string
    ) => Stored<StoredPayment | undefined>
    /**
     * Takes the answer owed to a caller without a claim, for the call of this id. Of any number of calls one gets it;
     * the same call may repeat the request, since the response may have been lost.
     */
    readonly takeAnswer: (paymentId: string, call: string) => Stored<boolean>
    /**
     * Restores the owed answer that this call took and could not deliver; an answer taken by another call stays taken.
     */
    readonly returnAnswer: (paymentId: string, call: string) => Stored<void>

    /** The number of waiting and pending payments of each lane. */
    readonly loads: (lanes: ReadonlyArray<string>) => Stored<ReadonlyMap<string, number>>
    /** The payments that wait in a lane, oldest first. */
    readonly queued: (lane: string, limit: number) => Stored<ReadonlyArray<StoredPayment>>
    /**
     * A fair selection from a queue longer than the limit: at most `ofPayer` payments of each payer, its oldest.
     * Callers take turns, and so do the payers of each; the selection is ordered by age.
     */
    readonly queuedInTurn: (lane: string, limit: number, ofPayer: number) => Stored<ReadonlyArray<StoredPayment>>
    /** The names of all lanes, of any network, with waiting or pending payments or open transactions. */
    readonly lanesInUse: Stored<ReadonlyArray<string>>
    /** The number of waiting payments of a lane, by caller and payer. */
    readonly waitingBy: (lane: string) => Stored<ReadonlyArray<QueueShare>>
    /** A lane's open transactions, in the order of their numbers. */
    readonly openTransactions: (lane: string) => Stored<ReadonlyArray<LaneTransaction>>
    /** The next number of a lane; a new lane begins with `first`. */
    readonly openLane: (lease: Lease, first: bigint) => Fenced<bigint>
    /**
     * Raises the lane's next number to at least `next`, because the chain's own count has passed it. Returns the next
     * number.
     */
    readonly skipTo: (lease: Lease, next: bigint) => Fenced<bigint>
    /**
     * Begins lane transactions in one step: takes the lane's next numbers, which the plans must have in order, keeps
     * the signed bytes and moves the payments from `accepted` to `planned`. `LeaseLost` if a number or a payment is not
     * as planned.
     *
     * If `allowance` is given, the network's books are read in the same step, exclusively among all planners of that
     * network. If it does not allow them, nothing is written and the books are returned.
     */
    readonly plan: (
      lease: Lease,
      plans: ReadonlyArray<PlannedTransaction>,
      allowance?: Allowance
    ) => Fenced<NetworkSpend | undefined>
    /**
     * Begins a transaction without payments at a number below the lane's next one that no open transaction has: the
     * chain has not used the number and includes none after it. A closed transaction of that number is reopened, with
     * these bytes after its own, and with its payments; a store may keep only a lane's 64 youngest closed ones for that.
     * Returns the transaction. `LeaseLost` if the number does not qualify.
     */
    readonly fillGap: (lease: Lease, number: bigint, prepared: PreparedTransaction) => Fenced<LaneTransaction>
    /** Keeps other bytes for an open transaction before they are sent. An allowance is checked as in `plan`. */
    readonly replace: (
      lease: Lease,
      number: bigint,
      prepared: PreparedTransaction,
      allowance?: Allowance
    ) => Fenced<NetworkSpend | undefined>
    /** Records a write; returns the changed records in the order of its changes. */
    readonly record: (lease: Lease, write: LaneWrite) => Fenced<ReadonlyArray<StoredPayment | undefined>>

    /**
     * The `accepted` payments of a network that wait in no lane and whose validity ended before this time (Unix
     * seconds), ordered by that end and by serial, after this place.
     */
    readonly unwanted: (
      network: string,
      validBefore: number,
      limit: number,
      after?: UnwantedPlace
    ) => Stored<ReadonlyArray<StoredPayment>>
    /**
     * Ends payments that are proven unused (`PaymentChange.endUnused`), if they are still `accepted` and wait in no lane;
     * returns their records.
     */
    readonly endUnwanted: (unused: ReadonlyArray<ProvenUnused>) => Stored<ReadonlyArray<StoredPayment>>
    /**
     * The cost of a network's transactions since a time, of one caller or all: in the chain's smallest native unit, to
     * the hour.
     */
    readonly spent: (network: string, since: number, caller?: string) => Stored<bigint>
    /**
     * The books of a network since a time. Every signed transaction counts; one that is included meanwhile may count
     * twice.
     */
    readonly books: (network: string, since: number) => Stored<NetworkSpend>
    /** Records in the order of their serials, after this one; of one caller or all. */
    readonly page: (after: bigint, limit: number, caller?: string) => Stored<ReadonlyArray<StoredPayment>>
    /**
     * Takes due notices that are not taken: for each of these callers at most its number, oldest first. If there are
     * many callers, the first ones are served and the others wait for the next call. A notice is due only if every
     * earlier one of its payment is closed, and may be taken again after `leaseMillis`.
     */
    readonly takeNotices: (room: ReadonlyMap<string, number>, leaseMillis: number) => Stored<ReadonlyArray<Notice>>
    /**
     * Payments of a network whose money has moved and whose delivery is not over, in the order of their serials, after this one.
     */
    readonly undelivered: (network: string, limit: number, after: bigint) => Stored<ReadonlyArray<StoredPayment>>
    /**
     * Records a fact about a payment's delivery (`Delivery.reported`); returns its record. With the first delivery the notice for its
     * caller is written in the same step.
     */
    readonly deliver: (paymentId: string, report: Delivery.DeliveryReport) => Stored<StoredPayment | undefined>
    /** The deliveries that are not over, for monitoring. */
    readonly openDeliveries: Stored<ReadonlyArray<Delivery.OpenDeliveries>>
    /** Closes a delivered notice; with `retryInMillis` the delivery failed, and it is due again then. */
    readonly closeNotice: (id: string, retryInMillis?: number) => Stored<void>
    /**
     * Closes at most `limit` notices whose state was reached more than `ageMillis` ago; returns their number by caller.
     * Of the callers in `kept`, those stay that were taken once at most: their first attempt may be under way.
     */
    readonly giveUpNotices: (
      ageMillis: number,
      limit: number,
      kept?: ReadonlySet<string>
    ) => Stored<ReadonlyMap<string, number>>
    readonly noticeBacklog: Stored<NoticeBacklog>
    /**
     * Checks at most `limit` records after this serial, oldest first, and deletes those that have been over for longer
     * than `ageMillis` (`RecordAge.isForgettable`), have no open notice and are in no open transaction. The newest
     * record and the record of the newest notice may stay, so that no serial and no notice id repeats.
     */
    readonly forget: (ageMillis: number, after: bigint, limit: number) => Stored<Forgotten>
    /**
     * Checks that records can be written: it writes as much as a payment does, in the same way, and leaves no record.
     * `FacilitatorUnavailable` names the cause and the remedy.
     */
    readonly probe: Stored<void>
  }
>()("@pontage/core/PaymentStore") {}

/**
 * The name of a signer's lane on a network. Payments of a family without slots share the lane of the empty address.
 */
export const LaneName = (network: string, address: string): string => `${network} ${address}`

/** The topic of the hint that a notice was written. */
export const noticesTopic = "notices"

/** The states that a caller is notified of, each the first time it is reached. */
export const isNotified = (status: Settlement.PaymentState): boolean =>
  Settlement.isSettled(status) || Settlement.isDead(status)

/** The time when the money moved; `undefined` while it has not. */
export const settledAt = ({ history, status }: StoredPayment): number | undefined =>
  Settlement.isSettled(status) ? history.find((one) => Settlement.isSettled(one.status))?.at : undefined

/**
 * The time when the money arrived at its recipient: when it moved, or when it was first delivered to the other network that it goes on
 * to. `undefined` before that.
 */
export const arrivedAt = (payment: StoredPayment): number | undefined =>
  payment.delivery === undefined ? settledAt(payment) : payment.delivery.deliveredAt

/** The circumstances that an execution's rules depend on. */
export const circumstances = (payment: StoredPayment, now: number): Execution.Circumstances => ({
  settledAt: settledAt(payment),
  arrivedAt: arrivedAt(payment),
  opensNothing: Settlement.isSettled(payment.status) && payment.refusal !== undefined,
  provable: payment.authorization.binding !== undefined || RetryToken.of(payment.requirements.extra) !== undefined,
  now
})

/** Whether the payment reserves a part of its payer's balance: it is pending, or about to be sent. */
export const reserves = (
  { lane, execution: run, status }: Pick<StoredPayment, "lane" | "execution" | "status">,
  now: number
): boolean =>
  status === "planned" ||
  status === "sent" ||
  (status === "accepted" && (lane !== undefined || Execution.isHeld(run, now)))

/** Whether the payment draws on its operator's stock: its money may move, or has moved. */
export const draws = (payment: Pick<StoredPayment, "lane" | "execution" | "status">, now: number): boolean =>
  !Settlement.isDead(payment.status) && (payment.status !== "accepted" || reserves(payment, now))

/** Whether this change makes a record reserve that did not reserve before. */
export const beginsToReserve = (before: StoredPayment | undefined, after: StoredPayment, now: number): boolean =>
  reserves(after, now) && (before === undefined || !reserves(before, now))

/**
 * Whether the balance covers this payment beside the payer's other reservations. An unknown balance covers it only if
 * nothing else is reserved.
 */
export const isCovered = ({ authorization }: NewPayment, reserved: bigint, available: bigint | undefined): boolean =>
  reserved === 0n || (available !== undefined && reserved + authorization.amount <= available)

/**
 * The result for a caller that claimed or settled the payment. It names the transaction only once that decides the
 * payment's end.
 */
export const toSettled = (payment: StoredPayment, execution: ClaimVerdict | undefined, now: number): Settled => {
  const { authorization, paymentId, requirements, execution: run, status, transaction } = payment
  const entitlement = execution === "granted" ? Execution.entitlement(run, circumstances(payment, now)) : undefined
  return {
    paymentId,
    status,
    execution,
    transaction: Settlement.isSettled(status) || Settlement.isDead(status) ? transaction : "",
    network: requirements.network,
    payer: authorization.payer,
    payTo: authorization.payTo,
    asset: authorization.asset,
    amount: `${authorization.amount}`,
    ...(entitlement && { entitlement })
  }
}

/** The record in the facilitator's API. */
export const toRecord = (payment: StoredPayment, now: number): Settlement.PaymentRecord => {
  const { authorization, refusal } = payment
  const delivery = Delivery.toPublic(payment)
  return {
    paymentId: payment.paymentId,
    status: payment.status,
    network: payment.requirements.network,
    asset: authorization.asset,
    payer: authorization.payer,
    payTo: authorization.payTo,
    amount: `${authorization.amount}`,
    transaction: payment.transaction,
    execution: Execution.standing(payment.execution, circumstances(payment, now)),
    runs: payment.execution.count,
    ...(refusal?._tag === "PaymentError" && { code: refusal.code, detail: refusal.detail }),
    ...(refusal?._tag === "ValidationError" && { reason: refusal.reason, detail: refusal.detail }),
    ...(delivery !== undefined && { delivery }),
    history: payment.history.map(({ at, note, status }) => ({ status, at, ...(note !== undefined && { note }) }))
  }
}
