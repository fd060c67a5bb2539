/**
 * Moves claimed payments onto their chain, without knowing a chain. A payment waits in the lane of a signer; the lane's
 * worker signs, writes down, sends, and watches until the chain proves an end. Nothing is sent before it is written down;
 * no answer is never an end; sending the same bytes again is the first repair. A caller that stops waiting changes
 * nothing: the settlement goes on, in this process or in another that shares the records.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"

import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { type ChainUnavailable, FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { Payment, SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import * as Checkpoint from "../Checkpoint.ts"
import * as Admission from "../queue/Admission.ts"
import * as BalanceCover from "../queue/BalanceCover.ts"
import * as LaneChoice from "../queue/LaneChoice.ts"
import * as VerifiedPayments from "../queue/VerifiedPayments.ts"
import * as WaitingCallers from "../queue/WaitingCallers.ts"
import type { LaneLeases } from "../store/LaneLeases.ts"
import {
  type LaneExit,
  LaneName,
  type OpenPayments,
  type PaymentStore,
  type StoredPayment
} from "../store/PaymentStore.ts"
import * as LaneWorker from "./LaneWorker.ts"
import * as OrphanedLanes from "./OrphanedLanes.ts"
import * as OthersTransfers from "./OthersTransfers.ts"
import * as PaymentReading from "./PaymentReading.ts"
import type { SpendLimits } from "./SpendLimits.ts"
import { isOver } from "./TrackedTransaction.ts"
import * as UnwantedPayments from "./UnwantedPayments.ts"

/** What the engine runs on. */
export interface Options {
  readonly store: PaymentStore["Service"]
  readonly leases: LaneLeases["Service"]
  readonly schemes: ReadonlyArray<SchemeFacilitator>
  readonly limits: SpendLimits
  /** Who is let into the lanes' queues; default by what they land. */
  readonly admission?: Admission.Admission | undefined
  /** How long a closing engine waits for what is under way; milliseconds. */
  readonly drainMillis: number
}

/** The engine. */
export interface SettlementEngine {
  /**
   * Says in which lane a payment that arrives would wait least. Fails where it would expire there before its turn. Counts nothing.
   */
  readonly judge: (
    scheme: SchemeFacilitator,
    arrival: Admission.Arrival
  ) => Effect.Effect<string, FacilitatorUnavailable>
  /** A payment was found good, and is about to wait in this lane. */
  readonly admit: (scheme: SchemeFacilitator, lane: string, arrival: Admission.Arrival) => Effect.Effect<void>
  /** Remembers that a payment was found good just now (Unix milliseconds), so that its lane need not look again. */
  readonly rememberVerified: VerifiedPayments.VerifiedPayments["add"]
  /**
   * Waits for the end of a payment whose record is in the store: the record in a settled or a dead state. One that waits
   * in no lane is put into one, and into another where the signer of its lane is refused. Fails when the payment left its
   * lane for anything else, or every lane: then nothing was sent. A payment that was refused there fails with its refusal.
   */
  readonly settle: (
    scheme: SchemeFacilitator,
    request: SettlementRequest
  ) => Effect.Effect<StoredPayment, PaymentFailure>
  /**
   * Whether somebody else has settled a payment on record since it was taken in, which explains this refusal. Fails while the
   * chain does not say.
   */
  readonly isSettledByAnother: (
    scheme: SchemeFacilitator,
    stored: StoredPayment,
    payment: Payment,
    refusal: PaymentFailure
  ) => Effect.Effect<boolean, ChainUnavailable>
  /** Whether the chain shows the transfer of a payment on record, whatever the record says of it. */
  readonly isTransferMade: (
    scheme: SchemeFacilitator,
    stored: StoredPayment,
    payment: Payment
  ) => Effect.Effect<boolean, ChainUnavailable>
  /** Runs what asks for a payment's end while its news is kept. */
  readonly whileWaiting: WaitingCallers.WaitingCallers["during"]
}

/** A payment whose end is wanted. */
export interface SettlementRequest {
  readonly stored: StoredPayment
  /** Of the payment: kept since before the record was read. */
  readonly update: Effect.Effect<WaitingCallers.Update>
  /** The record was made since the news is kept: nothing has happened to it that the news would not tell. */
  readonly isNew: boolean
  /** The payer's payments that were open before this one was examined; absent where it was not examined for this wish. */
  readonly openBefore?: OpenPayments | undefined
}

/** Between looks at what is left to do when the engine closes. */
const drainPause = Duration.millis(20)
/** So many lines a payment's record may have before its next attempt has to wait. */
const freeAttempts = 8
/** How long it waits then, since it came back; milliseconds. */
const attemptPause = Duration.toMillis("1 second")

/** Makes an engine that works in the scope. */
export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<SettlementEngine, never, Scope.Scope> {
  const { leases, store } = options
  const verified = VerifiedPayments.make()
  const waitingCallers = yield* WaitingCallers.make(store.signals)
  const startedAt = yield* store.now
  const lanes = lanesToWork(options, verified, waitingCallers, startedAt)
  const names = [...lanes.keys()]
  yield* Effect.forkScoped(
    leases.work(names, (lease) => {
      const lane = lanes.get(lease.lane)
      return lane === undefined ? Effect.void : LaneWorker.work(lane, lease)
    })
  )
  yield* Effect.forkScoped(watchOrphans(options, names, { verified, waitingCallers, startedAt }))
  const choice = LaneChoice.make(store)
  yield* UnwantedPayments.watch({ store, choice, startedAt }, options.schemes)
  yield* Effect.addFinalizer(() => drain(store, names, options.drainMillis))
  const admission = options.admission ?? Admission.make(store)
  return {
    judge: (scheme, arrival) => Effect.tap(choice.laneFor(scheme), (lane) => admission.judge(scheme, lane, arrival)),
    admit: admission.admit,
    rememberVerified: verified.add,
    settle: (scheme, request) =>
      isOver(request.stored) ? Effect.succeed(request.stored) : settle({ store, choice, startedAt }, scheme, request),
    isSettledByAnother: (scheme, stored, payment, refusal) => isExplained(scheme, stored, payment, refusal, startedAt),
    isTransferMade: (scheme, stored, payment) => OthersTransfers.isMade(scheme, stored, payment, startedAt),
    whileWaiting: waitingCallers.during
  }
})

/** What lanes of this process share. */
type Shared = Pick<LaneWorker.LaneToWork, "verified" | "waitingCallers" | "startedAt">

/** Lanes that earlier settings have left open are watched to their ends. */
const watchOrphans = Effect.fnUntraced(function* (
  { limits, schemes, leases, store }: Options,
  names: ReadonlyArray<string>,
  shared: Shared
) {
  const orphans = new Map((yield* OrphanedLanes.find(store, schemes, names)).map((lane) => [lane.name, lane]))
  if (orphans.size === 0) return
  yield* leases.work(
    [...orphans.keys()],
    (lease) => {
      const orphan = orphans.get(lease.lane)
      if (orphan === undefined) return Effect.void
      const { address, scheme } = orphan
      const spendLock = Semaphore.makeUnsafe(1)
      const state =
        scheme === undefined
          ? OrphanedLanes.release(store, lease)
          : LaneWorker.work({ ...shared, address, limits, scheme, spendLock, store, orphaned: true }, lease)
      return Effect.andThen(OrphanedLanes.logWatch(orphan), state)
    },
    "orphaned"
  )
})

const lanesToWork = (
  { limits, schemes, store }: Options,
  verified: VerifiedPayments.VerifiedPayments,
  waitingCallers: WaitingCallers.WaitingCallers,
  startedAt: number
) => {
  const lanes = new Map<string, LaneWorker.LaneToWork>()
  const locks = new Map(schemes.map(({ network }) => [network, Semaphore.makeUnsafe(1)]))
  for (const scheme of schemes) {
    const spendLock = locks.get(scheme.network) ?? Semaphore.makeUnsafe(1)
    for (const address of scheme.lanes.length === 0 ? [""] : scheme.lanes) {
      lanes.set(LaneName(scheme.network, address), {
        address,
        waitingCallers,
        limits,
        verified,
        scheme,
        spendLock,
        startedAt,
        store
      })
    }
  }
  return lanes
}

/** Whether the payment's own transfer, by somebody else's hand, explains this refusal. */
const isExplained = (
  scheme: SchemeFacilitator,
  stored: StoredPayment,
  payment: Payment,
  refusal: PaymentFailure,
  startedAt: number
): Effect.Effect<boolean, ChainUnavailable> =>
  OthersTransfers.isVerdict(refusal)
    ? Effect.map(OthersTransfers.stateOf(scheme, stored, payment, refusal, startedAt), (state) => state === "made")
    : Effect.succeed(false)

const settle = Effect.fnUntraced(function* (
  { choice, startedAt, store }: UnwantedPayments.Options,
  scheme: SchemeFacilitator,
  { openBefore, isNew, update, stored }: SettlementRequest
): Effect.fn.Return<StoredPayment, PaymentFailure> {
  const { paymentId } = stored
  if (isImpatient(stored, yield* store.now)) return yield* notStarted(stored)
  let { lane } = stored
  if (stored.status === "accepted" && lane === undefined)
    lane = yield* enqueue(store, scheme, stored, choice.laneFor(scheme), openBefore)
  let known = isNew && stored.lane !== undefined ? yield* update : undefined
  while (true) {
    const now = known ?? (yield* store.find(paymentId))
    if (now === undefined) return yield* Effect.die(`the record ${paymentId} is gone`)
    if (isOver(now)) return now
    if (now.status === "accepted" && now.lane === undefined) {
      if (exitOf(now) === "payment_refused") return yield* refusedNow(scheme, now, startedAt)
      const other = mayChangeLane(now) && lane !== undefined ? yield* choice.instead(scheme, lane) : undefined
      if (other === undefined) return yield* notStarted(now)
      lane = yield* enqueue(store, scheme, now, Effect.succeed(other))
    }
    known = yield* update
  }
})

/**
 * A payment that has come back often waits a while before it is put into a lane again: every time leaves a line in its
 * record, and asks the chain.
 */
const isImpatient = ({ history, lane, status }: StoredPayment, now: number): boolean => {
  const last = history.at(-1)
  return (
    lane === undefined &&
    status === "accepted" &&
    history.length > freeAttempts &&
    last !== undefined &&
    now < last.at + attemptPause
  )
}

/**
 * Has the payment wait in a lane; somebody else may have put it into another one meanwhile. One that nobody holds begins to
 * reserve its part of the balance with that.
 */
const enqueue = Effect.fnUntraced(function* (
  store: PaymentStore["Service"],
  scheme: SchemeFacilitator,
  stored: StoredPayment,
  choosing: Effect.Effect<string, FacilitatorUnavailable>,
  openBefore?: OpenPayments
) {
  const lane = yield* choosing
  const { authorization, paymentId } = stored
  const balance = Effect.flatMap(readable(scheme, stored), (payment) => scheme.balance(payment))
  const open = store.openPayments(stored)
  const { payment: queued } = yield* BalanceCover.ask({ authorization, open, balance, openBefore }, (cover) =>
    store.queue(paymentId, lane, cover)
  )
  yield* Checkpoint.pass("queued")
  return queued?.lane ?? lane
})

const readable = (scheme: SchemeFacilitator, stored: StoredPayment) =>
  Effect.mapError(
    PaymentReading.ofRecord(scheme, stored),
    ({ message }) =>
      new FacilitatorUnavailable({ message: `the record ${stored.paymentId} cannot be read any more: ${message}` })
  )

/** Whether the payment left its lane for a reason that another lane may be free of. */
const mayChangeLane = (stored: StoredPayment): boolean => {
  const exit = exitOf(stored)
  return exit === "signer_refused" || exit === "signer_missing"
}

const exitOf = ({ history }: StoredPayment): LaneExit | undefined => history.at(-1)?.exit

/**
 * Tells why a payment is refused that its lane has let go. The record keeps no refusal of a payment that has not ended: it is
 * examined once more, and the answer is the one of now.
 */
const refusedNow = Effect.fnUntraced(function* (
  scheme: SchemeFacilitator,
  stored: StoredPayment,
  startedAt: number
): Effect.fn.Return<never, PaymentFailure> {
  const payment = yield* readable(scheme, stored)
  const verdict = yield* Effect.result(scheme.verify(payment))
  if (verdict._tag === "Success") return yield* notStarted(stored)
  const isByAnother = yield* isExplained(scheme, stored, payment, verdict.failure, startedAt)
  return yield* isByAnother ? notStarted(stored) : verdict.failure
})

const notStarted = ({ history, paymentId, requirements: { network } }: StoredPayment) =>
  new FacilitatorUnavailable({
    message: `the settlement of ${paymentId} on ${network} could not be started: ${history.at(-1)?.note ?? "it left its lane"}`
  })

/** Lets what is under way end. Records that cannot be asked are no reason to stay. */
const drain = (store: PaymentStore["Service"], lanes: ReadonlyArray<string>, millis: number) => {
  const isIdle = Effect.map(store.loads(lanes), (loads) => [...loads.values()].every((load) => load === 0))
  const idle = Effect.gen(function* () {
    while (!(yield* isIdle)) yield* Effect.sleep(drainPause)
  })
  return millis === 0 ? Effect.void : Effect.ignore(Effect.timeout(idle, Duration.millis(millis)))
}
