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
import * as VerifiedPayments from "../queue/VerifiedPayments.ts"
import * as WaitingCallers from "../queue/WaitingCallers.ts"
import type { LaneLeases } from "../store/LaneLeases.ts"
import { LaneName, type OpenPayments, type PaymentStore, type StoredPayment } from "../store/PaymentStore.ts"
import * as Admission from "./Admission.ts"
import * as BalanceCover from "./BalanceCover.ts"
import * as LaneChoice from "./LaneChoice.ts"
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
  readonly halves: ReadonlyArray<SchemeFacilitator>
  readonly ceilings: SpendLimits
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
  readonly judge: (half: SchemeFacilitator, arrival: Admission.Arrival) => Effect.Effect<string, FacilitatorUnavailable>
  /** A payment was found good, and is about to wait in this lane. */
  readonly admit: (half: SchemeFacilitator, lane: string, arrival: Admission.Arrival) => Effect.Effect<void>
  /** Remembers that a payment was found good just now (Unix milliseconds), so that its lane need not look again. */
  readonly examined: VerifiedPayments.VerifiedPayments["add"]
  /**
   * Waits for the end of a payment whose record is in the store: the record in a settled or a dead state. One that waits
   * in no lane is put into one, and into another where the signer of its lane is refused. Fails when the payment left its
   * lane for anything else, or every lane: then nothing was sent.
   */
  readonly settle: (
    half: SchemeFacilitator,
    wish: Wish
  ) => Effect.Effect<StoredPayment, FacilitatorUnavailable | ChainUnavailable>
  /**
   * Whether somebody else has settled a payment on record since it was taken in, which explains this refusal. Fails while the
   * chain does not say.
   */
  readonly isSettledByAnother: (
    half: SchemeFacilitator,
    stored: StoredPayment,
    payment: Payment,
    refusal: PaymentFailure
  ) => Effect.Effect<boolean, ChainUnavailable>
  /** Runs what asks for a payment's end while its news is kept. */
  readonly awaiting: WaitingCallers.WaitingCallers["during"]
}

/** A payment whose end is wanted. */
export interface Wish {
  readonly stored: StoredPayment
  /** Of the payment: kept since before the record was read. */
  readonly news: Effect.Effect<WaitingCallers.News>
  /** The record was made since the news is kept: nothing has happened to it that the news would not tell. */
  readonly isNew: boolean
  /** The payer's payments that were open before this one was examined; absent where it was not examined for this wish. */
  readonly examinedBeside?: OpenPayments | undefined
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
  const examined = VerifiedPayments.make()
  const awaited = yield* WaitingCallers.make(store.signals)
  const startedAt = yield* store.now
  const lanes = lanesToWork(options, examined, awaited, startedAt)
  const names = [...lanes.keys()]
  yield* Effect.forkScoped(
    leases.work(names, (lease) => {
      const lane = lanes.get(lease.lane)
      return lane === undefined ? Effect.void : LaneWorker.work(lane, lease)
    })
  )
  yield* Effect.forkScoped(watchOrphans(options, names, { examined, awaited, startedAt }))
  const choice = LaneChoice.make(store)
  yield* UnwantedPayments.watch({ store, choice, startedAt }, options.halves)
  yield* Effect.addFinalizer(() => drain(store, names, options.drainMillis))
  const admission = options.admission ?? Admission.make(store)
  return {
    judge: (half, arrival) => Effect.tap(choice.laneFor(half), (lane) => admission.judge(half, lane, arrival)),
    admit: admission.admit,
    examined: examined.add,
    settle: (half, wish) => (isOver(wish.stored) ? Effect.succeed(wish.stored) : settle(store, choice, half, wish)),
    isSettledByAnother: (half, stored, payment, refusal) =>
      OthersTransfers.mayExplain(refusal)
        ? OthersTransfers.isSettled(half, stored, payment, startedAt)
        : Effect.succeed(false),
    awaiting: awaited.during
  }
})

/** What lanes of this process share. */
type Shared = Pick<LaneWorker.LaneToWork, "examined" | "awaited" | "startedAt">

/** Lanes that earlier settings have left open are watched to their ends. */
const watchOrphans = Effect.fnUntraced(function* (
  { ceilings, halves, leases, store }: Options,
  names: ReadonlyArray<string>,
  shared: Shared
) {
  const orphans = new Map((yield* OrphanedLanes.find(store, halves, names)).map((lane) => [lane.name, lane]))
  if (orphans.size === 0) return
  yield* leases.work(
    [...orphans.keys()],
    (lease) => {
      const orphan = orphans.get(lease.lane)
      if (orphan === undefined) return Effect.void
      const { address, half } = orphan
      const spending = Semaphore.makeUnsafe(1)
      const work =
        half === undefined
          ? OrphanedLanes.release(store, lease)
          : LaneWorker.work({ ...shared, address, ceilings, half, spending, store, orphaned: true }, lease)
      return Effect.andThen(OrphanedLanes.tell(orphan), work)
    },
    "orphaned"
  )
})

const lanesToWork = (
  { ceilings, halves, store }: Options,
  examined: VerifiedPayments.VerifiedPayments,
  awaited: WaitingCallers.WaitingCallers,
  startedAt: number
) => {
  const lanes = new Map<string, LaneWorker.LaneToWork>()
  const locks = new Map(halves.map(({ network }) => [network, Semaphore.makeUnsafe(1)]))
  for (const half of halves) {
    const spending = locks.get(half.network) ?? Semaphore.makeUnsafe(1)
    for (const address of half.lanes.length === 0 ? [""] : half.lanes) {
      lanes.set(LaneName(half.network, address), {
        address,
        awaited,
        ceilings,
        examined,
        half,
        spending,
        startedAt,
        store
      })
    }
  }
  return lanes
}

const settle = Effect.fnUntraced(function* (
  store: PaymentStore["Service"],
  choice: LaneChoice.LaneChoice,
  half: SchemeFacilitator,
  { examinedBeside, isNew, news, stored }: Wish
): Effect.fn.Return<StoredPayment, FacilitatorUnavailable | ChainUnavailable> {
  const { paymentId } = stored
  if (isImpatient(stored, yield* store.now)) return yield* notStarted(stored)
  let { lane } = stored
  if (stored.status === "accepted" && lane === undefined)
    lane = yield* enqueue(store, half, stored, choice.laneFor(half), examinedBeside)
  let known = isNew && stored.lane !== undefined ? yield* news : undefined
  while (true) {
    const now = known ?? (yield* store.find(paymentId))
    if (now === undefined) return yield* Effect.die(`the record ${paymentId} is gone`)
    if (isOver(now)) return now
    if (now.status === "accepted" && now.lane === undefined) {
      const other = mayChangeLane(now) && lane !== undefined ? yield* choice.instead(half, lane) : undefined
      if (other === undefined) return yield* notStarted(now)
      lane = yield* enqueue(store, half, now, Effect.succeed(other))
    }
    known = yield* news
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
  half: SchemeFacilitator,
  stored: StoredPayment,
  choosing: Effect.Effect<string, FacilitatorUnavailable>,
  examinedBeside?: OpenPayments
) {
  const lane = yield* choosing
  const { authorization, paymentId } = stored
  const balance = Effect.flatMap(readable(half, stored), (payment) => half.balance(payment))
  const open = store.openPayments(stored)
  const { payment: queued } = yield* BalanceCover.ask({ authorization, open, balance, examinedBeside }, (cover) =>
    store.queue(paymentId, lane, cover)
  )
  yield* Checkpoint.pass("queued")
  return queued?.lane ?? lane
})

const readable = (half: SchemeFacilitator, stored: StoredPayment) =>
  Effect.mapError(
    PaymentReading.ofRecord(half, stored),
    ({ message }) =>
      new FacilitatorUnavailable({ message: `the record ${stored.paymentId} cannot be read any more: ${message}` })
  )

/** Whether the payment left its lane for a reason that another lane may be free of. */
const mayChangeLane = ({ history }: StoredPayment): boolean => history.at(-1)?.exit !== undefined

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
