/**
 * Watches the deliveries of payments whose money goes on to another network, from the moment it has moved on its own. The other chain
 * decides: a delivery counts as soon as it is shown there, whichever party made it. Where none has been made and any party could make
 * it, it is pushed. A reorganisation of the other chain takes the delivery back on record; one of the payment's own chain pauses the
 * watch until the payment is in a block again.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import type * as Scope from "effect/Scope"

import * as BoundedMap from "../../platform/BoundedMap.ts"
import type { ChainUnavailable, FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { DeliveryObservation, Onward } from "../../scheme/Onward.ts"
import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import * as Checkpoint from "../Checkpoint.ts"
import * as PaymentReading from "../lane/PaymentReading.ts"
import * as LaneChoice from "../queue/LaneChoice.ts"
import * as Delivery from "../store/Delivery.ts"
import type { LaneLeases, Lease } from "../store/LaneLeases.ts"
import { LaneName, type PaymentStore, settledAt, type StoredPayment } from "../store/PaymentStore.ts"
import * as Pushing from "./Pushing.ts"

/** The parts that the watch runs on. */
export interface Options {
  readonly store: PaymentStore["Service"]
  readonly leases: LaneLeases["Service"]
  readonly schemes: ReadonlyArray<SchemeFacilitator>
}

/** The pause between rounds. */
const roundPause = Duration.seconds(1)
/**
 * The pause between two observations of one delivery, longer after each that shows nothing new; milliseconds. One that has been on its
 * way for long is observed less often: strangers can leave any number of deliveries stuck.
 */
const firstPause = Duration.toMillis("1 second")
const longestPause = Duration.toMillis("15 seconds")
const longestPauseOfOld = Duration.toMillis("10 minutes")
/** The part of a delivery's age that it waits at most between two observations. */
const partOfAge = 1 / 128
/** The time after which a delivery counts as stuck. */
export const stuckMillis = Duration.toMillis("30 minutes")
/** The records of one read, the reads of a round, and the deliveries to one network that are observed at once. The next round goes on behind them. */
const pageSize = 100
const pagesAtMost = 5
const concurrency = 8
/** The most deliveries whose pauses are remembered; the others are observed in every round. */
const mostRemembered = 10_000

/** The next observation of a delivery, by the monotonic clock, and the pause before it; both in milliseconds. */
interface Pause {
  readonly until: number
  readonly millis: number
}

interface Context extends Pushing.PushContext {
  readonly pauses: BoundedMap.BoundedMap<string, Pause>
  /** The observations under way, by the other network. */
  readonly looks: FiberMap.FiberMap<string>
  /** The serial after which the next round begins. */
  after: bigint
}

/** The monotonic clock, in milliseconds: pauses are measured by it, since the time of day may be set back meanwhile. */
const monotonicMillis = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))

/** A serial before all records. */
const beginning = -1n

/** A scheme facilitator whose payments may go on. */
interface OnwardScheme extends SchemeFacilitator {
  readonly onward: Onward
}

/** Watches the deliveries of these schemes while the scope lasts. One process at a time watches those of a scheme. */
export const watch = (options: Options): Effect.Effect<void, never, Scope.Scope> => {
  const watched = new Map(options.schemes.filter(goesOn).map((scheme) => [nameOf(scheme), scheme]))
  if (watched.size === 0) return Effect.void
  const context = { ...options, choice: LaneChoice.make(options.store) }
  const work = options.leases.work([...watched.keys()], (lease) => {
    const scheme = watched.get(lease.lane)
    return scheme === undefined ? Effect.void : rounds(context, scheme, lease)
  })
  return Effect.asVoid(Effect.forkScoped(work))
}

const goesOn = (scheme: SchemeFacilitator): scheme is OnwardScheme => scheme.onward !== undefined

/** The name of the lease of a scheme's deliveries; no signer's address contains a space. */
const nameOf = ({ network, scheme: { name } }: SchemeFacilitator): string => LaneName(network, `deliveries of ${name}`)

const rounds = (options: Pushing.PushContext, scheme: OnwardScheme, lease: Lease): Effect.Effect<void> =>
  Effect.scoped(roundsIn(options, scheme, lease))

const roundsIn = Effect.fnUntraced(function* (
  options: Pushing.PushContext,
  scheme: OnwardScheme,
  lease: Lease
): Effect.fn.Return<void, never, Scope.Scope> {
  const looks = yield* FiberMap.make<string>()
  const context: Context = { ...options, pauses: BoundedMap.oldestOut(mostRemembered), looks, after: beginning }
  while (lease.isValid()) {
    yield* Effect.sleep(roundPause)
    yield* unlessBroken(scheme, round(context, scheme))
  }
})

const unlessBroken = ({ network }: OnwardScheme, work: Effect.Effect<void, FacilitatorUnavailable>) =>
  Effect.catchCause(work, (cause) =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.interrupt
      : Effect.logWarning(`the deliveries of payments on ${network} could not be watched`, cause)
  )

/**
 * Begins to observe what is due. Each other network has observations of its own: one that does not respond delays no delivery to another,
 * and is observed again when its observations have ended.
 */
const round = Effect.fnUntraced(function* (
  context: Context,
  scheme: OnwardScheme
): Effect.fn.Return<void, FacilitatorUnavailable> {
  const { looks, store } = context
  const due = new Map<string, Array<StoredPayment>>()
  for (let pages = 0; pages < pagesAtMost; pages++) {
    const page = yield* store.undelivered(scheme.network, pageSize, context.after)
    const now = yield* monotonicMillis
    for (const one of page) {
      if (one.requirements.scheme !== scheme.scheme.name || (context.pauses.get(one.paymentId)?.until ?? 0) > now)
        continue
      const network = one.delivery?.network ?? ""
      due.set(network, [...(due.get(network) ?? []), one])
    }
    const last = page.length < pageSize ? undefined : page.at(-1)
    context.after = last?.serial ?? beginning
    if (last === undefined) break
  }
  for (const [network, those] of due) {
    const looking = Effect.forEach(those, (one) => look(context, scheme, one), { concurrency, discard: true })
    yield* FiberMap.run(looks, network, unlessBroken(scheme, looking), { onlyIfMissing: true })
  }
})

/** Observes a delivery and records what has changed. */
const look = Effect.fnUntraced(function* (
  context: Context,
  scheme: OnwardScheme,
  stored: StoredPayment
): Effect.fn.Return<void, FacilitatorUnavailable> {
  const { pauses, store } = context
  const { paymentId } = stored
  const report = yield* Effect.catchTag(reportOf(context, scheme, stored), "ChainUnavailable", (error) =>
    Effect.as(Effect.logDebug(`the delivery of ${paymentId} could not be observed`, error), unseen(stored, error))
  )
  const now = yield* store.now
  yield* Checkpoint.pass("observed")
  const news = report && inTime(stored, report, now)
  const after = news && (yield* store.deliver(paymentId, news))
  if (after !== undefined && after.delivery?.status !== stored.delivery?.status) yield* logChange(after)
  if (after?.delivery?.final === true) return void pauses.delete(paymentId)
  const isNews = after?.delivery && stored.delivery && !Delivery.isSame(after.delivery, stored.delivery)
  const last = pauses.get(paymentId)?.millis ?? firstPause / 2
  const millis = isNews === true ? firstPause : Math.min(longestFor(stored, now), last * 2)
  pauses.set(paymentId, { until: (yield* monotonicMillis) + millis, millis })
})

/** A chain that cannot be read changes nothing that is known of a delivery, but an unknown outcome is stuck in time too. */
const unseen = ({ delivery }: StoredPayment, { message }: ChainUnavailable): Delivery.DeliveryReport | undefined =>
  delivery?.status === "pending"
    ? { _tag: "Undelivered", status: "pending", detail: `it cannot be observed: ${message}` }
    : undefined

const longestFor = (stored: StoredPayment, now: number): number =>
  Math.min(longestPauseOfOld, Math.max(longestPause, (now - (settledAt(stored) ?? now)) * partOfAge))

const reportOf = Effect.fnUntraced(function* (
  context: Context,
  scheme: OnwardScheme,
  stored: StoredPayment
): Effect.fn.Return<Delivery.DeliveryReport | undefined, ChainUnavailable | FacilitatorUnavailable> {
  const { block, paymentId, transaction } = stored
  if (block === undefined) return undefined
  const reading = yield* Effect.result(PaymentReading.ofRecord(scheme, stored))
  if (reading._tag === "Failure") {
    yield* Effect.logError(`${paymentId} cannot be read; its delivery is not watched until it can`, reading.failure)
    return undefined
  }
  const last = yield* Pushing.lastOf(context, stored)
  const attempt = Pushing.attemptOf(last)
  const departure = { payment: reading.success, transaction, block, attempt, pushed: last.kept }
  const observation = yield* scheme.onward.observe(departure)
  return observation._tag === "Ready" || observation._tag === "Unsigned"
    ? yield* Pushing.push(context, stored, last, observation)
    : withoutPush(observation)
})

const withoutPush = (
  observation: Exclude<DeliveryObservation, { readonly _tag: "Ready" | "Unsigned" }>
): Delivery.DeliveryReport => {
  switch (observation._tag) {
    case "Delivered": {
      const { amount, block, final, transaction } = observation
      return { _tag: "Delivered", arrival: { transaction, block, amount }, final }
    }
    case "Underway":
      return { _tag: "Undelivered", status: "pending", detail: observation.reason }
    case "Blocked":
      return { _tag: "Undelivered", status: "stuck", detail: observation.reason }
  }
}

/** A delivery that is pending for too long counts as stuck. */
const inTime = (stored: StoredPayment, report: Delivery.DeliveryReport, now: number): Delivery.DeliveryReport =>
  report._tag === "Undelivered" && now - (settledAt(stored) ?? now) > stuckMillis
    ? { ...report, status: "stuck" }
    : report

const logChange = ({ delivery, paymentId }: StoredPayment): Effect.Effect<void> => {
  if (delivery === undefined) return Effect.void
  const { arrival, detail = "", network, status } = delivery
  if (status === "stuck") return Effect.logWarning(`the delivery of ${paymentId} to ${network} is stuck: ${detail}`)
  return arrival === undefined
    ? Effect.logWarning(`${network} no longer shows the delivery of ${paymentId}`)
    : Effect.logInfo(`${paymentId} was delivered to ${network} by ${arrival.transaction}`)
}
