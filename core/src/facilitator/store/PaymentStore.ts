/**
 * The facilitator's memory, and the one place where an authorization is claimed. A store promises atomicity: of any number
 * of concurrent claims on one authorization exactly one creates its record, in this process and in all others that share
 * the store; and durability: what a method has answered is still there after a crash. `testing/PaymentStoreLaws` says the
 * same as executable laws.
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
import * as Execution from "./Execution.ts"
import type { Lease, LeaseLost } from "./LaneLeases.ts"
import type { Allowance, NetworkSpend } from "./NetworkSpend.ts"
import type { Signals } from "./Signals.ts"

/** Everything needed to settle a payment, again after a restart. */
export interface NewPayment {
  readonly paymentId: string
  readonly requirements: PaymentRequirements
  readonly authorization: Authorization
  /** The scheme's JSON as it came. */
  readonly payload: Schema.Json
  /** The name of the caller who brought it; empty where callers are not told apart. */
  readonly caller: string
  /** Whether its caller is to be told of every end (`takeNotices`). */
  readonly notify: boolean
}

/** A payment's record. `history` is append-only; its times are Unix milliseconds. */
export interface StoredPayment extends NewPayment {
  /** The order in which records were made; unique. */
  readonly serial: bigint
  readonly status: Settlement.PaymentState
  /** The transaction that moved the money, or the last one signed to move it; empty before that. */
  readonly transaction: string
  /** Where the money moved. */
  readonly block: Block | undefined
  /** The lane (`LaneName`) it waits in or travels in; `undefined` while nobody wants it settled. */
  readonly lane: string | undefined
  /** The transaction it travels in, by its number in the lane; the last one it travelled in, once it has ended. */
  readonly laneNumber: bigint | undefined
  /** The chain's head when a transaction was first prepared for it. */
  readonly since: bigint | undefined
  /** Why it was refused: in a dead state, or in a settled one that opens nothing, because somebody else has sent it. */
  readonly refusal: PaymentError | ValidationError | undefined
  readonly execution: Execution.Execution
  /**
   * A caller without a claim is owed the answer, once: from the record's making until a call takes it (`takeAnswer`), which
   * then is the run's holder.
   */
  readonly answerOwed: boolean
  readonly history: ReadonlyArray<HistoryEntry>
}

/**
 * The reasons for which a payment that was not sent leaves its lane, where decisions depend on them. Another lane may take it at
 * once if the nodes reject the signer's transactions (`signer_refused`) or the signer is not configured any more
 * (`signer_missing`). `payment_refused`: its examination refused it, while nothing proves that its authorization cannot be used.
 */
export const laneExits = ["signer_refused", "signer_missing", "payment_refused"] as const

export type LaneExit = (typeof laneExits)[number]

/** One change of a record's state. `note` is for people; decisions go by `exit`, which callers are not told. */
export type HistoryEntry = Settlement.PaymentRecord["history"][number] & { readonly exit?: LaneExit }

/**
 * What became of a claim. `created` tells whether this call made the record; `execution` is absent for a caller that made
 * no claim. `Different`: the presentation is not one of the payment on record (`Presentation.isOf`). Both this and
 * `Overdrawn` write nothing.
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

/**
 * A record would begin to reserve its part of the balance, and the payer's other payments in transaction reserve so much of it
 * that this one may not fit.
 */
export interface Overdrawn {
  readonly _tag: "Overdrawn"
  readonly reserved: bigint
}

/** What became of the wish to have a payment wait in a lane. `Overdrawn` writes nothing. */
export type QueueResult = { readonly _tag: "Queued"; readonly payment: StoredPayment | undefined } | Overdrawn

/**
 * A payer's payments in one asset that have not ended, each with its amount, and the serial of the newest record of all.
 */
export interface OpenPayments {
  readonly amounts: ReadonlyMap<string, bigint>
  readonly newest: bigint
}

/**
 * What is known of a payer's balance: `available` is the balance, if the caller has asked the chain for it, and must cover all
 * that is in transaction and this, where the record begins to reserve. `beside` are the payer's payments that were open before the
 * chain was asked: one of them, or a younger one, that has ended since counts as if it were in transaction, because its money may
 * still have been in that balance.
 */
export interface Cover {
  readonly available?: bigint | undefined
  readonly beside?: OpenPayments | undefined
}

/**
 * What a claim depends on: the payer's balance; and `lane`, if given, is where a new record waits for its settlement at once.
 */
export interface Intake extends Cover {
  readonly lane?: string | undefined
}

/**
 * One slot of a lane and everything that was signed for it: what has to be known to send it again, to look for it, and to
 * put something dearer in its place. A family without slots has flights all the same, one for each transaction.
 */
export interface LaneTransaction {
  /** The lane's name (`LaneName`). */
  readonly lane: string
  readonly number: bigint
  /** Oldest first; the last one is the one that is sent. */
  readonly attempts: ReadonlyArray<PreparedTransaction>
  /** In the order in which the transaction settles them. */
  readonly payments: ReadonlyArray<StoredPayment>
  /** Where one of the attempts was included, if any was. */
  readonly inclusion: Inclusion | undefined
}

/** A transaction that is about to begin: the payments leave the lane's queue. */
export interface PlannedTransaction {
  readonly number: bigint
  readonly prepared: PreparedTransaction
  /** In the order in which the transaction settles them; none for a transaction that only uses its slot up. */
  readonly paymentIds: ReadonlyArray<string>
}

/**
 * A change of one payment's state, applied only when the record is in one of the states `from`. A change to `accepted`
 * takes the payment out of its transaction: back into the lane's queue, or with `leave` out of the lane altogether.
 */
export interface StateChange {
  readonly paymentId: string
  readonly from: ReadonlyArray<Settlement.PaymentState>
  readonly to: Settlement.PaymentState
  readonly transaction?: string
  readonly block?: Block
  readonly refusal?: PaymentError | ValidationError
  readonly note?: string
  readonly leave?: true
  /** Only with `leave`. */
  readonly exit?: LaneExit
}

/** What a lane's worker writes down in one step: changes of payments, and what became of their transaction. */
export interface LaneWrite {
  readonly changes: ReadonlyArray<StateChange>
  readonly transaction?: {
    readonly number: bigint
    /** Where it was included; `null` when it is in no block any more. The cost is booked to the payments' callers, once. */
    readonly inclusion?: Inclusion | null
    /** Nothing of it has to be watched any more. */
    readonly closed?: true
  }
}

/** How many payments of one payer wait in a lane, that came through one caller. */
export interface QueueShare {
  readonly caller: string
  readonly payer: string
  readonly waiting: number
}

/** An end that a caller is to be told of. */
export interface Notice {
  readonly id: string
  /** How often it was taken before. */
  readonly attempts: number
  readonly payment: StoredPayment
  /** The state that the notice is about, and when it was reached (Unix milliseconds). */
  readonly status: Settlement.PaymentState
  readonly at: number
}

/**
 * The notices that no caller has been told of yet: how many, and when the oldest one's state was reached (Unix milliseconds;
 * `undefined` where there are none).
 */
export interface NoticeBacklog {
  readonly count: number
  readonly oldest: number | undefined
}

/**
 * Where a page of payments that nobody wants settled has ended: the end of a validity in Unix seconds, and a serial.
 */
export interface UnwantedPlace {
  readonly validBefore: number
  readonly serial: bigint
}

/** A payment that never moves its money, and the final block that proves it. */
export interface ProvenUnused {
  readonly paymentId: string
  readonly at: Block
}

/**
 * What a look at old records came to: how many were forgotten, and the serial after which to look on; `undefined` where all
 * that follow are younger.
 */
export interface Forgotten {
  readonly count: number
  readonly next: bigint | undefined
}

type Stored<A> = Effect.Effect<A, FacilitatorUnavailable>
type Fenced<A> = Effect.Effect<A, FacilitatorUnavailable | LeaseLost>

/**
 * The service. Every method is atomic. None fails for a reason of the payment: `FacilitatorUnavailable` says that the
 * records cannot be asked, and then a write may have happened or not. Times are Unix milliseconds.
 */
export class PaymentStore extends Context.Service<
  PaymentStore,
  {
    /**
     * Hints: a payment's id when its record has changed in a way that can be acted on (`PaymentChange.isHeard`), a lane's
     * name when something waits in it, `noticesTopic` when this process has written a notice.
     */
    readonly signals: Signals
    /** The time by which the store dates and judges, which may be another one than this process's clock shows. */
    readonly now: Effect.Effect<number>
    readonly find: (paymentId: string) => Stored<StoredPayment | undefined>
    /**
     * Claims an authorization. With no record yet it creates one, in the state `accepted`; else the presentation is compared
     * with the record and the claim is judged against the run (`PaymentChange.claimed`). The balance is judged whenever the
     * record begins to reserve (`beginsToReserve`): a known one does so that was given back, or whose lease has lapsed.
     */
    readonly claim: (payment: NewPayment, claim: Claim | undefined, intake?: Intake) => Stored<ClaimResult>
    /**
     * Has an `accepted` payment wait in this lane, unless it waits in one already: no payment when there is no record. The
     * balance is judged as it is for a claim.
     */
    readonly queue: (paymentId: string, lane: string, cover?: Cover) => Stored<QueueResult>
    /** The open payments of this payment's payer in its asset. It is asked before the chain is asked for the balance. */
    readonly openPayments: (payment: NewPayment) => Stored<OpenPayments>
    /**
     * Ends the run that this claim holds. With a caller another caller's payment is as one that is not there: `undefined`,
     * and nothing is changed.
     */
    readonly finish: (
      paymentId: string,
      claimId: string,
      outcome: ExecutionEnd,
      caller?: string
    ) => Stored<StoredPayment | undefined>
    /**
     * Takes the answer that a caller without a claim is owed, for the call of this name. Of any number of calls one gets it;
     * the same call may ask again, since the answer to it may have been lost.
     */
    readonly takeAnswer: (paymentId: string, call: string) => Stored<boolean>
    /** Owes the answer again that this call has taken and could not give; what another call has taken stays taken. */
    readonly returnAnswer: (paymentId: string, call: string) => Stored<void>

    /** How many payments wait or travel in each of these lanes. */
    readonly loads: (lanes: ReadonlyArray<string>) => Stored<ReadonlyMap<string, number>>
    /** Payments that wait in a lane, oldest first. */
    readonly queued: (lane: string, limit: number) => Stored<ReadonlyArray<StoredPayment>>
    /**
     * Payments that wait in a lane, of a queue with more than the limit: of each payer no more than `ofPayer`, its oldest. The
     * callers take turns, and so do the payers of each; what the turns choose is in the order of its age.
     */
    readonly queuedInTurn: (lane: string, limit: number, ofPayer: number) => Stored<ReadonlyArray<StoredPayment>>
    /** The names of all lanes, of any network, in which payments wait or travel, or of which transactions are not closed. */
    readonly lanesInUse: Stored<ReadonlyArray<string>>
    /** How many payments wait in a lane, by their callers and payers. */
    readonly waitingBy: (lane: string) => Stored<ReadonlyArray<QueueShare>>
    /** A lane's transactions that are not closed, by their numbers. */
    readonly openTransactions: (lane: string) => Stored<ReadonlyArray<LaneTransaction>>
    /** The number of a lane's next transaction; a lane nobody has worked before begins with `first`. */
    readonly openLane: (lease: Lease, first: bigint) => Fenced<bigint>
    /** The chain's own count has gone past the lane's: its next transaction has at least this number. Returns what it is. */
    readonly skipTo: (lease: Lease, next: bigint) => Fenced<bigint>
    /**
     * Begins flights: takes the lane's next numbers, which the plans must carry in order, keeps the signed bytes and moves
     * the payments from `accepted` to `planned`, all in one step. `LeaseLost` when the number or a payment is not as planned.
     * With an allowance the network's books are read in the same step, alone among all who plan on that network: where they do not
     * allow it nothing is written, and the books are returned.
     */
    readonly plan: (
      lease: Lease,
      plans: ReadonlyArray<PlannedTransaction>,
      allowance?: Allowance
    ) => Fenced<NetworkSpend | undefined>
    /**
     * Begins a transaction without payments in a number below the lane's next one that no open transaction has: the chain has not used it,
     * and takes none after it. A closed transaction of that number is opened again, with these bytes after its own. `LeaseLost` when the
     * number is not such a one.
     */
    readonly fillGap: (lease: Lease, number: bigint, prepared: PreparedTransaction) => Fenced<void>
    /** Keeps other bytes for a transaction that has begun, before they are sent. An allowance is asked as for a plan. */
    readonly replace: (
      lease: Lease,
      number: bigint,
      prepared: PreparedTransaction,
      allowance?: Allowance
    ) => Fenced<NetworkSpend | undefined>
    /** Writes an entry; returns the records that it changed, in the order of its changes. */
    readonly record: (lease: Lease, entry: LaneWrite) => Fenced<ReadonlyArray<StoredPayment | undefined>>

    /**
     * Payments of a network that are `accepted` and wait in no lane, whose validity ended before this time (Unix seconds): in the
     * order of these ends and of their serials, those after this place.
     */
    readonly unwanted: (
      network: string,
      validBefore: number,
      limit: number,
      after?: UnwantedPlace
    ) => Stored<ReadonlyArray<StoredPayment>>
    /**
     * Moves payments that are proven unused to `expired`, exactly these, and only those of them that are `accepted` and wait in no
     * lane still; returns how many.
     */
    readonly expireUnwanted: (unused: ReadonlyArray<ProvenUnused>) => Stored<number>
    /**
     * What transactions have cost on a network since a time, for one caller or for all: in the chain's smallest native
     * unit, to the hour.
     */
    readonly spent: (network: string, since: number, caller?: string) => Stored<bigint>
    /** The books of a network since a time: nothing that has been signed is missing, and what lands meanwhile may count twice. */
    readonly books: (network: string, since: number) => Stored<NetworkSpend>
    /** Records by their serials, after this one; those of one caller, or all. */
    readonly page: (after: bigint, limit: number, caller?: string) => Stored<ReadonlyArray<StoredPayment>>
    /**
     * Takes notices that nobody else has taken: of each of these callers at most as many as its number says, the oldest of what
     * is due; of many callers those that stand first, while the others wait for the next time. One is due only when every earlier
     * one of its payment is closed. Each may be taken again after `leaseMillis`.
     */
    readonly takeNotices: (room: ReadonlyMap<string, number>, leaseMillis: number) => Stored<ReadonlyArray<Notice>>
    /** A notice was told; or it was not, and is due again in `retryInMillis`. */
    readonly closeNotice: (id: string, retryInMillis?: number) => Stored<void>
    /** Closes at most `limit` notices whose state was reached longer ago than `ageMillis`; returns how many, by caller. */
    readonly giveUpNotices: (ageMillis: number, limit: number) => Stored<ReadonlyMap<string, number>>
    readonly noticeBacklog: Stored<NoticeBacklog>
    /**
     * Looks at records of serials after this one, the oldest first, at most at so many, and forgets for good those that have
     * been over for longer than `ageMillis` (`RecordAge.isForgettable`), have no open notice and do not travel in an open transaction.
     * The newest record and that of the newest notice may stay, so that no serial and no notice's id comes twice.
     */
    readonly forget: (ageMillis: number, after: bigint, limit: number) => Stored<Forgotten>
    /**
     * Whether records can be kept at this moment: writes as much as a payment does and in the same way, and no record of it
     * stays. `FacilitatorUnavailable` names the cause and what mends it.
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

/** The ends that a caller is told of: each is the first of its kind in a payment's life. */
export const isNotified = (status: Settlement.PaymentState): boolean =>
  Settlement.isSettled(status) || Settlement.isDead(status)

/** When the money moved; `undefined` while it has not. */
export const settledAt = ({ history, status }: StoredPayment): number | undefined =>
  Settlement.isSettled(status) ? history.find((one) => Settlement.isSettled(one.status))?.at : undefined

/** What a run's judgement depends on. */
export const circumstances = (payment: StoredPayment, now: number): Execution.Circumstances => ({
  settledAt: settledAt(payment),
  opensNothing: Settlement.isSettled(payment.status) && payment.refusal !== undefined,
  provable: payment.authorization.binding !== undefined || RetryToken.of(payment.requirements.extra) !== undefined,
  now
})

/** Whether the payment holds a part of its payer's balance: it is on its way, or somebody is about to send it. */
export const reserves = (
  { lane, execution: run, status }: Pick<StoredPayment, "lane" | "execution" | "status">,
  now: number
): boolean =>
  status === "planned" ||
  status === "sent" ||
  (status === "accepted" && (lane !== undefined || Execution.isHeld(run, now)))

/** Whether a record that did not hold a part of its payer's balance would hold one after this change. */
export const beginsToReserve = (before: StoredPayment | undefined, after: StoredPayment, now: number): boolean =>
  reserves(after, now) && (before === undefined || !reserves(before, now))

/**
 * Whether the balance covers this payment beside what others of the payer reserve. A balance that nobody has asked for
 * covers what is reserved by nobody else.
 */
export const isCovered = ({ authorization }: NewPayment, reserved: bigint, available: bigint | undefined): boolean =>
  reserved === 0n || (available !== undefined && reserved + authorization.amount <= available)

/**
 * The answer to who has claimed or settled the payment. A transaction is named once the payment's end is known by it.
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

/** The record as the facilitator shows it. */
export const toRecord = (payment: StoredPayment, now: number): Settlement.PaymentRecord => {
  const { authorization, refusal } = payment
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
    history: payment.history.map(({ at, note, status }) => ({ status, at, ...(note !== undefined && { note }) }))
  }
}
