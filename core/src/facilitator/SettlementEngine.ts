/**
 * Moves claimed payments onto their chain, without knowing a chain. For each payment: take a slot, sign, write down, send,
 * watch until the chain proves an end. Nothing is sent before it is written down; no answer is never an end; sending the
 * same bytes again is the only repair. A caller that stops waiting changes nothing: the settlement goes on.
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"

import { type ChainUnavailable, FacilitatorUnavailable, type Misconfigured } from "../protocol/ProtocolError.ts"
import { isDead, isSettled } from "../protocol/Settlement.ts"
import type {
  Observation,
  Payment,
  Prepared,
  SchemeFacilitator,
  Slot,
  Submission,
  Survey
} from "../scheme/SchemeFacilitator.ts"
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
  /** Whether this engine is moving the payment now. */
  readonly isUnderWay: (paymentId: string) => boolean
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
/** So many looks without a receipt, after the node said that the slot is used, show that the bytes will not be mined. */
const looksBeforeReplan = 6
/** Between attempts to close a hole in a lane. */
const holePause = Duration.seconds(1)
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
  const repairs = yield* FiberSet.make()
  const journeys = yield* FiberSet.make()
  yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(FiberSet.awaitEmpty(journeys), drainTime)))
  const lanes = new Map<SchemeFacilitator, ReadonlyArray<Lane.Lane>>()
  for (const half of halves) lanes.set(half, yield* Effect.forEach(half.lanes, Lane.make))

  /** In one piece: a payment that is noted as under way is on its way, whatever happens to the caller. */
  const join = (half: SchemeFacilitator, payment: Payment, paymentId: string) =>
    Effect.uninterruptible(
      Effect.suspend(() => {
        const running = underWay.get(paymentId)
        if (running !== undefined) return Effect.succeed(running)
        const end = Deferred.makeUnsafe<StoredPayment, NotStarted>()
        underWay.set(paymentId, end)
        const journey: Journey = { store, half, payment, paymentId, repairs }
        // Forgotten before it is told: who hears of the end and asks again must not be given the same end.
        const whole = Effect.ensuring(
          travel(journey, shortest(lanes.get(half) ?? [])),
          Effect.sync(() => void underWay.delete(paymentId))
        )
        const work = Deferred.into(whole, end)
        return Effect.as(FiberSet.run(journeys, work), end)
      })
    )

  return {
    isUnderWay: (paymentId) => underWay.has(paymentId),
    settle: (half, payment, stored) =>
      isOver(stored)
        ? Effect.succeed(stored)
        : Effect.flatMap(join(half, payment, stored.paymentId), (end) => Deferred.await(end))
  }
})

const isOver = ({ status }: StoredPayment): boolean => isSettled(status) || isDead(status)

/** One payment on its way: what every step needs. */
interface Journey {
  readonly store: PaymentStore["Service"]
  readonly half: SchemeFacilitator
  readonly payment: Payment
  readonly paymentId: string
  /** Where holes in lanes are closed; nobody waits for it. */
  readonly repairs: FiberSet.FiberSet
}

/** Bytes that were sent, and whether the node said at once that their slot is used: then no node holds them. */
interface Sending {
  readonly prepared: Prepared
  readonly slotUsed: boolean
}

const shortest = (lanes: ReadonlyArray<Lane.Lane>): Lane.Lane | undefined =>
  lanes.reduce<Lane.Lane | undefined>((a, b) => (a === undefined || b.load() < a.load() ? b : a), undefined)

const travel = (journey: Journey, lane: Lane.Lane | undefined) => {
  const whole = Effect.gen(function* () {
    // The caller's copy of the record may be older than the end of an earlier journey.
    const stored = yield* recordOf(journey)
    if (isOver(stored)) return stored
    const earlier = stored.prepared && (yield* observed(journey, stored.prepared))
    if (earlier !== undefined && earlier._tag !== "Pending") return yield* arrive(journey, earlier)
    let sending = yield* stored.prepared === undefined || stored.status === "accepted"
      ? depart(journey, lane, stored.prepared)
      : resume(journey, stored.prepared)
    for (let replans = 0; ; replans++) {
      const end = yield* watch(journey, sending)
      if (end._tag !== "Pending") return yield* arrive(journey, end)
      if (replans > 0) yield* Effect.sleep(longestPause)
      sending = yield* replan(journey, lane, sending.prepared)
    }
  })
  return lane === undefined ? whole : lane.withPlace(whole)
}

/**
 * Takes a slot, signs, writes down, sends for the first time. After earlier bytes it keeps their head: a transfer that
 * happened since is this payment's own, whoever sent it. All of it is done in the lane's turn, so that transactions reach
 * the node in the order of their slots: many nodes hold none that arrives before its predecessor, or hold it badly.
 */
const depart = Effect.fnUntraced(function* (
  journey: Journey,
  lane: Lane.Lane | undefined,
  earlier: Prepared | undefined
): Effect.fn.Return<Sending, NotStarted> {
  const { half } = journey
  const survey = yield* half.survey
  const { prepared, submission } = yield* lane === undefined
    ? signAndSend(journey, undefined, survey, earlier)
    : Effect.onError(
        lane.take(half.nextSlot(lane.address), (slot) => signAndSend(journey, slot, survey, earlier)),
        () => repair(journey, lane)
      )
  if (submission._tag === "Refused") return yield* turnBack(journey, lane, prepared, submission.message)
  lane?.heard(true)
  yield* advance(journey, { from: ["planned"], to: "sent" })
  return { prepared, slotUsed: submission._tag === "SlotUsed" }
})

/** Fails only before anything is sent. */
const signAndSend = Effect.fnUntraced(function* (
  journey: Journey,
  slot: Slot | undefined,
  survey: Survey,
  earlier: Prepared | undefined
) {
  const signed = yield* journey.half.prepare(journey.payment, slot, survey)
  const prepared = earlier === undefined ? signed : { ...signed, head: earlier.head }
  const { transaction } = prepared
  yield* advance(journey, { from: ["accepted", "planned", "sent"], to: "planned", transaction, prepared })
  return { prepared, submission: yield* sent(journey.half, prepared) }
})

/** Bytes that may be on their way are never replaced by new ones: they are sent again as they are. */
const resume = Effect.fnUntraced(function* (journey: Journey, prepared: Prepared): Effect.fn.Return<Sending> {
  yield* sent(journey.half, prepared)
  yield* advance(journey, { from: ["planned", "sent"], to: "sent", note: "sent again" })
  return { prepared, slotUsed: false }
})

/**
 * The slot belongs to another transaction, or the node will not have these bytes in it (their fee is too low by now): the
 * payment is signed anew, in this slot if it is still open. A chain that cannot be asked leaves things as they are.
 */
const replan = Effect.fnUntraced(function* (journey: Journey, lane: Lane.Lane | undefined, prepared: Prepared) {
  if (lane === undefined) return yield* departFrom(journey, lane, prepared, prepared)
  const next = yield* Effect.catch(journey.half.nextSlot(lane.address), () => Effect.undefined)
  if (next === undefined) return { prepared, slotUsed: false }
  lane.catchUp(next)
  const isOpen = prepared.slot?.lane === lane.address && prepared.slot.number >= next
  // The new bytes are the next to take a slot, so the hole is theirs.
  if (isOpen) lane.giveBack(prepared.slot)
  return yield* departFrom(journey, lane, prepared, isOpen ? { ...prepared, slot: undefined } : prepared)
})

const departFrom = (journey: Journey, lane: Lane.Lane | undefined, earlier: Prepared, stay: Prepared) =>
  Effect.catchTag(depart(journey, lane, earlier), "ChainUnavailable", () =>
    Effect.as(repair(journey, lane), { prepared: stay, slotUsed: false } satisfies Sending)
  )

/** The node does not hold the bytes, and it was the first time they were sent: the slot goes back, the payment waits. */
const turnBack = Effect.fnUntraced(function* (
  journey: Journey,
  lane: Lane.Lane | undefined,
  prepared: Prepared,
  message: string
) {
  lane?.heard(false)
  yield* handBack(journey, lane, prepared)
  yield* advance(journey, { from: ["planned"], to: "accepted", note: message })
  return yield* new FacilitatorUnavailable({
    message: `the transaction that settles ${journey.paymentId} was not taken by a node of ${journey.half.network}: ${message}`
  })
})

/** Gives a slot back whose bytes no node holds. */
const handBack = (journey: Journey, lane: Lane.Lane | undefined, { slot }: Prepared): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (lane !== undefined && slot !== undefined) lane.giveBack(slot)
    return repair(journey, lane)
  })

/** Has the holes of a lane closed in the background. */
const repair = ({ half, repairs }: Journey, lane: Lane.Lane | undefined): Effect.Effect<void> =>
  Effect.suspend(() => (lane?.hasHole() === true ? FiberSet.run(repairs, close(half, lane)) : Effect.void))

/**
 * Closes holes with transactions that do nothing, unless payments take the slots first. Everything behind a hole stands
 * still, so this does not give up: a chain that is down or a signer without gas money is asked again.
 */
const close = Effect.fnUntraced(function* (half: SchemeFacilitator, lane: Lane.Lane) {
  while (lane.hasHole()) {
    const filled = yield* Effect.result(fillHole(half, lane))
    if (Result.isFailure(filled))
      yield* Effect.logWarning(`a hole in the lane of ${lane.address} is open`, filled.failure)
    yield* Effect.sleep(holePause)
    if (Result.isSuccess(filled) && filled.success !== undefined) yield* confirm(half, lane, filled.success)
  }
})

const fillHole = Effect.fnUntraced(function* (half: SchemeFacilitator, lane: Lane.Lane) {
  const survey = yield* half.survey
  const signed = yield* lane.takeHole((slot) => Effect.map(half.fill(slot, survey), (prepared) => ({ slot, prepared })))
  if (signed === undefined) return undefined
  const submission = yield* sent(half, signed.prepared)
  if (submission._tag !== "Refused") return signed.slot
  lane.giveBack(signed.slot)
  return yield* new FacilitatorUnavailable({ message: submission.message })
})

/** A filler that the chain does not know of has not closed its hole. */
const confirm = (half: SchemeFacilitator, lane: Lane.Lane, slot: Slot) =>
  Effect.map(
    Effect.catch(half.nextSlot(lane.address), () => Effect.succeed(slot.number)),
    (next) => next > slot.number || lane.giveBack(slot)
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

/** Looks until the chain proves an end. `Pending` comes back only when the slot turned out to be lost for these bytes. */
const watch = Effect.fnUntraced(function* (journey: Journey, { prepared, slotUsed }: Sending) {
  let pause = firstPause
  let looksSinceUsed = slotUsed ? looksBeforeReplan : undefined
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

const recordOf = ({ paymentId, store }: Journey): Effect.Effect<StoredPayment> =>
  Effect.flatMap(store.find(paymentId), (stored) =>
    stored === undefined ? Effect.die(`the record ${paymentId} is gone`) : Effect.succeed(stored)
  )

/** Only the engine moves a payment between these states, so a change that does not apply is a defect and not a race. */
const advance = (journey: Journey, change: Advance): Effect.Effect<StoredPayment> =>
  Effect.flatMap(journey.store.advance(journey.paymentId, change), (stored) =>
    stored === undefined
      ? Effect.die(`the record ${journey.paymentId} could not become ${change.to}`)
      : Effect.succeed(stored)
  )
