/**
 * Settles claimed payments on their chain, without knowing a chain. A payment waits in the lane of a signer; the lane's worker signs,
 * writes down, sends, and tracks until the chain proves an end. Nothing is sent before it is written down; a missing answer is never
 * an end; sending the same bytes again is the first repair. A caller that stops waiting changes nothing: the settlement goes on, in
 * this process or in another that shares the records.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"

import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { type ChainUnavailable, FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { Payment, SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import * as Checkpoint from "../Checkpoint.ts"
import * as Admission from "../queue/Admission.ts"
import * as BalanceCover from "../queue/BalanceCover.ts"
import * as LaneChoice from "../queue/LaneChoice.ts"
import * as StockReading from "../queue/StockReading.ts"
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
import type { Unstocked } from "../store/Stock.ts"
import * as LaneWorker from "./LaneWorker.ts"
import * as OrphanedLanes from "./OrphanedLanes.ts"
import * as OthersTransfers from "./OthersTransfers.ts"
import * as PaymentReading from "./PaymentReading.ts"
import type { SpendLimits } from "./SpendLimits.ts"
import { isOver } from "./TrackedTransaction.ts"
import * as UnwantedPayments from "./UnwantedPayments.ts"

/** The parts that the engine runs on. */
export interface Options {
  readonly store: PaymentStore["Service"]
  readonly leases: LaneLeases["Service"]
  readonly schemes: ReadonlyArray<SchemeFacilitator>
  readonly limits: SpendLimits
  /** The admission to the lanes' queues; default by the lanes' throughput. */
  readonly admission?: Admission.Admission | undefined
  /** The longest time that a closing engine waits for settlements under way; milliseconds. */
  readonly drainMillis: number
}

/** The engine. */
export interface SettlementEngine {
  /**
   * Names the lane in which an arriving payment would wait least. Fails if the payment would expire there before its turn. Counts
   * nothing.
   */
  readonly judge: (
    scheme: SchemeFacilitator,
    arrival: Admission.Arrival
  ) => Effect.Effect<string, FacilitatorUnavailable>
  /** Counts a verified payment that is about to wait in this lane. */
  readonly admit: (scheme: SchemeFacilitator, lane: string, arrival: Admission.Arrival) => Effect.Effect<void>
  /** Remembers a verification of this moment (Unix milliseconds), so that the lane need not repeat it. */
  readonly rememberVerified: VerifiedPayments.VerifiedPayments["add"]
  /**
   * Waits for the end of a payment on record, and returns the record in a settled or a dead state. A payment that waits in no lane is
   * put into one, and into another if the nodes reject the signer of its lane. Fails if the payment left its lane for any other
   * reason, or left every lane: then nothing was sent. A payment that was refused there fails with its refusal.
   */
  readonly settle: (
    scheme: SchemeFacilitator,
    request: SettlementRequest
  ) => Effect.Effect<StoredPayment, PaymentFailure>
  /**
   * Whether a third party has settled a payment on record since its intake, which explains this refusal. Fails while the chain does
   * not show it.
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
  /** Runs an effect that waits for a payment's end, while updates of its record are kept for it. */
  readonly whileWaiting: WaitingCallers.WaitingCallers["during"]
}

/** A payment whose end a caller waits for. */
export interface SettlementRequest {
  readonly stored: StoredPayment
  /** The next update of the record: kept since before the record was read. */
  readonly update: Effect.Effect<WaitingCallers.Update>
  /** The record was made while updates were kept: they contain every change of it. */
  readonly isNew: boolean
  /** The payer's payments that were open before this one was verified; absent if it was not verified for this request. */
  readonly openBefore?: OpenPayments | undefined
}

/** The poll interval of the lanes' loads while the engine closes. */
const drainPause = Duration.millis(20)
/** The pause between looks for lanes whose signer this process lacks. */
const orphanPause = Duration.seconds(30)
/** The history lines of a record after which its next attempt has to wait. */
const freeAttempts = 8
/** That wait, from the last line on; milliseconds. */
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
  yield* Effect.forkScoped(Effect.scoped(watchOrphans(options, names, { verified, waitingCallers, startedAt })))
  const choice = LaneChoice.make(store)
  yield* UnwantedPayments.watch({ store, choice, startedAt }, options.schemes)
  yield* Effect.addFinalizer(() => drain(store, names, options.drainMillis))
  const admission = options.admission ?? Admission.make(store)
  return {
    judge: (scheme, arrival) => Effect.tap(choice.laneFor(scheme), (lane) => admission.judge(scheme, lane, arrival)),
    admit: admission.admit,
    rememberVerified: verified.add,
    settle: (scheme, request) => {
      if (isOver(request.stored)) return Effect.succeed(request.stored)
      const settling = settle({ store, choice, startedAt }, scheme, request)
      // One call makes a record: so each payment is observed once.
      return request.isNew ? Effect.tap(settling, (end) => Effect.sync(() => admission.observe(end))) : settling
    },
    isSettledByAnother: (scheme, stored, payment, refusal) => isExplained(scheme, stored, payment, refusal, startedAt),
    isTransferMade: (scheme, stored, payment) => OthersTransfers.isMade(scheme, stored, payment, startedAt),
    whileWaiting: waitingCallers.during
  }
})

/** The parts that the lanes of this process share. */
type Shared = Pick<LaneWorker.LaneToWork, "verified" | "waitingCallers" | "startedAt">

/**
 * Watches lanes that are not among these names until they are empty. It looks for them again and again: another process may begin to
 * use one later, and end for good.
 */
const watchOrphans = Effect.fnUntraced(function* (
  options: Options,
  names: ReadonlyArray<string>,
  shared: Shared
): Effect.fn.Return<never, never, Scope.Scope> {
  const watched = new Set(names)
  const fibers = yield* FiberSet.make()
  while (true) {
    const found = yield* OrphanedLanes.find(options.store, options.schemes, [...watched])
    for (const { name } of found) watched.add(name)
    yield* FiberSet.run(fibers, watchLanes(options, new Map(found.map((lane) => [lane.name, lane])), shared))
    yield* Effect.sleep(orphanPause)
  }
})

const watchLanes = Effect.fnUntraced(function* (
  { limits, leases, store }: Options,
  orphans: ReadonlyMap<string, OrphanedLanes.OrphanedLane>,
  shared: Shared
) {
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

/** Whether the payment's own transfer, sent by a third party, explains this refusal. */
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
 * Whether a payment that left its lanes repeatedly has to wait before it is put into a lane again: each attempt adds a line to its
 * record, and queries the chain.
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
 * Puts the payment into a lane's queue; another call may have put it into another lane meanwhile. A payment without a held execution
 * begins to reserve its part of the balance with that.
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
  const stock = yield* stockOf(store, scheme, stored)
  const result = yield* BalanceCover.ask({ authorization, open, balance, openBefore }, (cover) =>
    store.queue(paymentId, lane, { ...cover, stock })
  )
  if (result._tag === "Unstocked") return yield* unstocked(stored, result)
  const { payment: queued } = result
  yield* Checkpoint.pass("queued")
  return queued?.lane ?? lane
})

/** The stock that a payment on record draws on, as of now; `undefined` if it draws on none, or if its pair is not served any more. */
const stockOf = Effect.fnUntraced(function* (
  store: PaymentStore["Service"],
  scheme: SchemeFacilitator,
  stored: StoredPayment
) {
  if (stored.delivery?.draw === undefined) return undefined
  const stock = scheme.onward?.stock?.(yield* readable(scheme, stored))
  return stock && (yield* StockReading.coverOf(store, stock))
})

const unstocked = ({ delivery, paymentId }: StoredPayment, { left }: Unstocked) => {
  const room = left > 0n ? left : 0n
  const message = `${paymentId} waits for the operator's stock of ${delivery?.draw?.pair}, of which ${room} are left; send the same payment again later`
  return new FacilitatorUnavailable({ message })
}

const readable = (scheme: SchemeFacilitator, stored: StoredPayment) =>
  Effect.mapError(
    PaymentReading.ofRecord(scheme, stored),
    ({ message }) =>
      new FacilitatorUnavailable({ message: `the record ${stored.paymentId} cannot be read any more: ${message}` })
  )

/** Whether the payment left its lane for a reason that may not hold in another lane. */
const mayChangeLane = (stored: StoredPayment): boolean => {
  const exit = exitOf(stored)
  return exit === "signer_refused" || exit === "signer_missing"
}

const exitOf = ({ history }: StoredPayment): LaneExit | undefined => history.at(-1)?.exit

/**
 * Fails with the refusal of a payment that has left its lane. The record keeps no refusal of a payment that has not ended: the payment
 * is verified once more, and the present refusal counts.
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

/** Waits for settlements under way. An unavailable store ends the wait. */
const drain = (store: PaymentStore["Service"], lanes: ReadonlyArray<string>, millis: number) => {
  const isIdle = Effect.map(store.loads(lanes), (loads) => [...loads.values()].every((load) => load === 0))
  const idle = Effect.gen(function* () {
    while (!(yield* isIdle)) yield* Effect.sleep(drainPause)
  })
  return millis === 0 ? Effect.void : Effect.ignore(Effect.timeout(idle, Duration.millis(millis)))
}
