/**
 * Moves claimed payments onto their chain, without knowing a chain. For each payment: take a slot, sign, write down, send,
 * watch until the chain proves an end. Nothing is sent before it is written down; no answer is never an end; sending the
 * same bytes again is the only repair. A caller that stops waiting changes nothing: the settlement goes on.
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"

import { type ChainUnavailable, FacilitatorUnavailable, type Misconfigured } from "../protocol/ProtocolError.ts"
import { isDead, isSettled } from "../protocol/Settlement.ts"
import type { Observation, Payment, Prepared, SchemeFacilitator, Submission } from "../scheme/SchemeFacilitator.ts"
import * as Lane from "./Lane.ts"
import type { Advance, PaymentStore, StoredPayment } from "./PaymentStore.ts"

/**
 * Why a settlement could not even be started: nothing was sent, the record stands as it was.
 *
 * @category errors
 */
export type NotStarted = ChainUnavailable | FacilitatorUnavailable | Misconfigured

/**
 * The engine.
 *
 * @category models
 */
export interface SettlementEngine {
  /**
   * Settles a payment whose record is in the store, or joins the settlement that is under way, and waits for its end:
   * the record in a settled or a dead state.
   */
  readonly settle: (
    half: SchemeFacilitator,
    payment: Payment,
    stored: StoredPayment
  ) => Effect.Effect<StoredPayment, NotStarted>
}

/** Between looks at the chain: quick at first, since many chains include within milliseconds or a second. */
const firstPause = Duration.millis(8)
const longestPause = Duration.millis(500)
/** A transaction that is nowhere to be seen is sent again after so many looks. */
const looksBeforeResend = 10
/** So many looks without a receipt, after the node said that the slot is used, show that a stranger has taken it. */
const looksBeforeReplan = 6
/** How long a closing engine waits for settlements under way. */
const drainTime = Duration.seconds(25)

/**
 * Makes an engine that lives in the scope. When the scope closes it first lets running settlements end, for 25 seconds at
 * most.
 *
 * @category constructors
 */
export const make = Effect.fnUntraced(function* (
  store: PaymentStore["Service"],
  halves: ReadonlyArray<SchemeFacilitator>
): Effect.fn.Return<SettlementEngine, never, Scope.Scope> {
  const underWay = new Map<string, Deferred.Deferred<StoredPayment, NotStarted>>()
  const fibers = yield* FiberSet.make()
  yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(FiberSet.awaitEmpty(fibers), drainTime)))
  const lanes = new Map<SchemeFacilitator, ReadonlyArray<Lane.Lane>>()
  for (const half of halves) lanes.set(half, yield* Effect.forEach(half.lanes, Lane.make))

  const settle: SettlementEngine["settle"] = Effect.fnUntraced(function* (half, payment, stored) {
    if (isSettled(stored.status) || isDead(stored.status)) return stored
    const running = underWay.get(stored.paymentId)
    if (running !== undefined) return yield* Deferred.await(running)
    const end = Deferred.makeUnsafe<StoredPayment, NotStarted>()
    underWay.set(stored.paymentId, end)
    const journey: Journey = { store, half, payment, paymentId: stored.paymentId, fibers }
    const work = Effect.ensuring(
      Deferred.into(travel(journey, stored, shortest(lanes.get(half) ?? [])), end),
      Effect.sync(() => void underWay.delete(stored.paymentId))
    )
    yield* FiberSet.run(fibers, work)
    return yield* Deferred.await(end)
  })

  return { settle }
})

/** One payment on its way: what every step needs. */
interface Journey {
  readonly store: PaymentStore["Service"]
  readonly half: SchemeFacilitator
  readonly payment: Payment
  readonly paymentId: string
  readonly fibers: FiberSet.FiberSet
}

const shortest = (lanes: ReadonlyArray<Lane.Lane>): Lane.Lane | undefined =>
  lanes.reduce<Lane.Lane | undefined>((a, b) => (a === undefined || b.load() < a.load() ? b : a), undefined)

const travel = (journey: Journey, stored: StoredPayment, lane: Lane.Lane | undefined) => {
  const whole = Effect.gen(function* () {
    const earlier = stored.prepared && (yield* observed(journey, stored.prepared))
    if (earlier !== undefined && earlier._tag !== "Pending") return yield* arrive(journey, earlier)
    let prepared = yield* depart(journey, lane)
    for (;;) {
      const end = yield* watch(journey, prepared)
      if (end._tag !== "Pending") return yield* arrive(journey, end)
      if (lane !== undefined) lane.catchUp(yield* journey.half.nextSlot(lane.address))
      prepared = yield* depart(journey, lane)
    }
  })
  return lane === undefined ? whole : lane.withPlace(whole)
}

/** Takes a slot, signs, writes down, sends for the first time. */
const depart = Effect.fnUntraced(function* (journey: Journey, lane: Lane.Lane | undefined) {
  const { half, payment } = journey
  const survey = yield* half.survey
  const prepared = yield* lane === undefined
    ? half.prepare(payment, undefined, survey)
    : lane.take(half.nextSlot(lane.address), (slot) => half.prepare(payment, slot, survey))
  const { transaction } = prepared
  yield* advance(journey, { from: ["accepted", "planned", "sent"], to: "planned", transaction, prepared })
  const submission = yield* sent(half, prepared)
  if (submission._tag === "Refused") return yield* turnBack(journey, lane, prepared, submission.message)
  yield* advance(journey, { from: ["planned"], to: "sent" })
  return prepared
})

/** The node does not hold the bytes, and it was the first time they were sent: the slot goes back, the payment waits. */
const turnBack = Effect.fnUntraced(function* (
  journey: Journey,
  lane: Lane.Lane | undefined,
  prepared: Prepared,
  message: string
) {
  if (lane !== undefined && prepared.slot !== undefined && lane.giveBack(prepared.slot)) {
    yield* FiberSet.run(journey.fibers, close(journey.half, lane))
  }
  yield* advance(journey, { from: ["planned"], to: "accepted", note: message })
  return yield* new FacilitatorUnavailable({
    message: `the transaction that settles ${journey.paymentId} was not taken by a node of ${journey.half.network}: ${message}`
  })
})

/** Closes a hole with a transaction that does nothing, unless a payment takes the slot first. */
const close = (half: SchemeFacilitator, lane: Lane.Lane) =>
  half.survey.pipe(
    Effect.flatMap((survey) => lane.take(half.nextSlot(lane.address), (slot) => half.fill(slot, survey))),
    Effect.flatMap((prepared) => sent(half, prepared)),
    Effect.tapError((error) => Effect.logWarning(`a hole in the lane of ${lane.address} stays open`, error)),
    Effect.ignore
  )

/** Sends bytes. Without an answer they may be on their way, which is all that "accepted" means to us. */
const sent = (half: SchemeFacilitator, prepared: Prepared): Effect.Effect<Submission> =>
  Effect.catch(half.submit(prepared), (error) =>
    Effect.as(Effect.logDebug("no answer to a transaction that was sent", error), { _tag: "Accepted" as const })
  )

const observed = (journey: Journey, prepared: Prepared): Effect.Effect<Observation> =>
  Effect.catch(journey.half.observe(journey.payment, prepared), (error) =>
    Effect.as(Effect.logDebug("the chain could not be asked for a transaction", error), { _tag: "Pending" as const })
  )

/** Looks until the chain proves an end. `Pending` comes back only when a stranger has taken the slot. */
const watch = Effect.fnUntraced(function* (journey: Journey, prepared: Prepared) {
  let pause = firstPause
  let looksSinceUsed: number | undefined
  for (let looks = 1; ; looks++) {
    const observation = yield* observed(journey, prepared)
    if (observation._tag !== "Pending" || looksSinceUsed === looksBeforeReplan) return observation
    if (looksSinceUsed !== undefined) looksSinceUsed++
    if (looks % looksBeforeResend === 0 && (yield* sent(journey.half, prepared))._tag === "SlotUsed")
      looksSinceUsed ??= 0
    yield* Effect.sleep(pause)
    pause = Duration.min(Duration.times(pause, 2), longestPause)
  }
})

const arrive = (journey: Journey, end: Exclude<Observation, { readonly _tag: "Pending" }>) => {
  const { transaction } = end
  const from = ["accepted", "planned", "sent"] as const
  return end._tag === "Settled"
    ? advance(journey, {
        from,
        to: "included",
        transaction,
        note: `block ${end.block}${end.external ? ", sent by another" : ""}`
      })
    : advance(journey, { from, to: "failed", transaction, refusal: end.error })
}

/** Only the engine moves a payment between these states, so a change that does not apply is a defect and not a race. */
const advance = (journey: Journey, change: Advance): Effect.Effect<StoredPayment> =>
  Effect.flatMap(journey.store.advance(journey.paymentId, change), (stored) =>
    stored === undefined
      ? Effect.die(`the record ${journey.paymentId} could not become ${change.to}`)
      : Effect.succeed(stored)
  )
