/**
 * The laws about what is kept beside the payments' own course: their order, what they have cost, and hints that
 * something has changed.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import { same, succeeds } from "../Law.ts"
import {
  change,
  claimed,
  firstFlight,
  flown,
  landing,
  law,
  loses,
  newClaim,
  newLane,
  newName,
  newPayment,
  opened,
  planOf,
  signed,
  statusIs,
  type Store,
  type StoreLaw,
  taken,
  waiting
} from "./PaymentStoreTrial.ts"

const idsOf = (payments: ReadonlyArray<{ readonly paymentId: string }>) => payments.map(({ paymentId }) => paymentId)

const serialsGoUp = law(
  "records have serials in the order of their making, and are listed by them, of one caller or of all",
  Effect.fnUntraced(function* (store) {
    const [mine, theirs] = [yield* newName, yield* newName]
    const callers = [mine, theirs, mine, mine, theirs]
    const made = yield* Effect.forEach(callers, (caller) =>
      Effect.map(taken(store, { caller }), ({ stored }) => stored)
    )
    const serials = made.map(({ serial }) => serial)
    yield* same(
      "the serials",
      serials,
      serials.toSorted((a, b) => (a < b ? -1 : 1))
    )
    yield* same("how many serials", new Set(serials).size, made.length)
    const before = (serials[0] ?? 0n) - 1n
    yield* same("all", idsOf(yield* store.page(before, 5)), idsOf(made))
    yield* same("the first two", idsOf(yield* store.page(before, 2)), idsOf(made.slice(0, 2)))
    yield* same("those behind the second", idsOf(yield* store.page(serials[1] ?? 0n, 5)), idsOf(made.slice(2)))
    yield* same("one caller's", yield* store.page(before, 9, mine), [made[0], made[2], made[3]])
    yield* same("one caller's later ones", yield* store.page(serials[0] ?? 0n, 1, mine), [made[2]])
    yield* same("nobody's", yield* store.page(0n, 9, yield* newName), [])
    yield* same("behind the last", yield* store.page(serials[4] ?? 0n, 9, mine), [])
  })
)

const unwantedExpire = law(
  "payments that nobody wants settled expire with their validity; those that wait or travel do not",
  Effect.fnUntraced(function* (store, subject) {
    const unwanted = yield* taken(store, { validFor: 60 })
    const longer = yield* taken(store, { validFor: 62 })
    const { name: lane } = yield* newLane
    const [queued = ""] = yield* waiting(store, lane, 1)
    const { ids } = yield* flown(store, subject, 1)
    const { validBefore } = unwanted.stored.authorization
    yield* store.expireUnwanted(validBefore)
    yield* statusIs(store, unwanted.paymentId, "accepted")
    const count = yield* store.expireUnwanted(validBefore + 1)
    yield* same("whether any expired", count > 0, true)
    yield* statusIs(store, unwanted.paymentId, "expired")
    const { refusal } = (yield* store.find(unwanted.paymentId)) ?? {}
    yield* same("why", refusal?._tag === "PaymentError" && refusal.code, "EXPIRED_PAYMENT")
    yield* statusIs(store, longer.paymentId, "accepted")
    yield* statusIs(store, queued, "accepted")
    yield* statusIs(store, ids[0] ?? "", "planned")
    yield* same("the queue", idsOf(yield* store.queued(lane, 9)), [queued])
    yield* same("a second time", (yield* store.find(unwanted.paymentId))?.history.length, 2)
  })
)

const hour = 3_600_000

const costsAreBooked = law(
  "a landing's cost is divided among its payments' callers, once for each flight, to the hour",
  Effect.fnUntraced(function* (store, subject) {
    const { name: lane, network } = yield* newLane
    const [mine, theirs] = [yield* newName, yield* newName]
    const ids = [
      ...(yield* waiting(store, lane, 2, { caller: mine })),
      ...(yield* waiting(store, lane, 1, { caller: theirs }))
    ]
    const lease = yield* opened(store, subject, lane)
    yield* store.plan(lease, [yield* planOf(firstFlight, ids), yield* planOf(firstFlight + 1n, [])])
    const start = yield* Clock.currentTimeMillis
    const part = 2n ** 70n
    const prepared = yield* signed(firstFlight)
    const landed = landing(prepared, 3n * part + 2n)
    yield* same("before", yield* store.spent(network, 0), 0n)
    yield* store.enter(lease, { advances: [], flight: { number: firstFlight, landed } })
    yield* same("one caller's", yield* store.spent(network, start, mine), 2n * part + 2n)
    yield* same("the other's", yield* store.spent(network, start, theirs), part)
    yield* same("everybody's", yield* store.spent(network, start), 3n * part + 2n)
    yield* same("somebody's", yield* store.spent(network, start, yield* newName), 0n)
    yield* same("on another network", yield* store.spent(`${network}x`, 0), 0n)
    yield* store.enter(lease, { advances: [], flight: { number: firstFlight, landed: null } })
    yield* store.enter(lease, { advances: [], flight: { number: firstFlight, landed } })
    yield* same("after it landed again", yield* store.spent(network, start), 3n * part + 2n)
    yield* subject.elapse(2 * hour)
    yield* store.enter(lease, { advances: [], flight: { number: firstFlight + 1n, landed: landing(prepared, 5n) } })
    yield* same("nobody's transaction", yield* store.spent(network, start, ""), 5n)
    yield* same("everything", yield* store.spent(network, start), 3n * part + 7n)
    yield* same("since a later hour", yield* store.spent(network, start + 2 * hour), 5n)
    yield* same("since tomorrow", yield* store.spent(network, start + 26 * hour), 0n)
  })
)

/** Runs the change; who has listened to the topic since before must hear of it. */
const rings = Effect.fnUntraced(function* <A, E>(store: Store, topic: string, what: string, body: Effect.Effect<A, E>) {
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const ear = yield* store.signals.listen(topic)
      const heard = yield* Effect.forkChild(ear.next)
      const result = yield* body
      yield* succeeds(`${what} is heard of`, Fiber.join(heard))
      return result
    })
  )
})

const changesAreHeard = law(
  "who listens hears of what can be acted on: a payment's run, end or coming back, and what begins to wait in a lane",
  Effect.fnUntraced(function* (store, subject) {
    const { name: lane } = yield* newLane
    const payment = yield* newPayment()
    const { paymentId } = payment
    const claim = yield* newClaim()
    yield* claimed(store, payment, claim)
    yield* rings(store, paymentId, "its claim anew", claimed(store, payment, claim))
    yield* rings(store, lane, "its waiting", store.queue(paymentId, lane))
    const other = yield* newPayment()
    yield* rings(store, lane, "a claim that waits at once", claimed(store, other, undefined, { lane }))
    const lease = yield* opened(store, subject, lane)
    const plan = yield* planOf(firstFlight, [paymentId])
    yield* store.plan(lease, [plan])
    yield* store.enter(lease, { advances: [change(paymentId, "planned", "sent")] })
    yield* rings(store, paymentId, "its finish", store.finish(paymentId, claim.id, "served"))
    const back = { advances: [change(paymentId, "sent", "accepted")] }
    const comingBack = rings(store, paymentId, "its coming back", store.enter(lease, back))
    yield* rings(store, lane, "its waiting again", comingBack)
    yield* store.plan(lease, [yield* planOf(firstFlight + 1n, [paymentId])])
    const end = { advances: [change(paymentId, "planned", "failed")] }
    yield* rings(store, paymentId, "its end", store.enter(lease, end))
    yield* loses("a plan that does not fit", store.plan(lease, [plan]))
  })
)

const probesLeaveNothing = law(
  "a probe writes and leaves no record, however often",
  Effect.fnUntraced(function* (store) {
    const first = yield* taken(store)
    for (let times = 0; times < 3; times++) yield* store.probe
    yield* Effect.all([store.probe, store.probe, store.probe], { concurrency: "unbounded" })
    const second = yield* taken(store)
    const later = yield* store.page(first.stored.serial, 9)
    yield* same("the records behind the first", idsOf(later), [second.paymentId])
  })
)

/**
 * The laws about what is kept beside the payments' course.
 *
 * @category constants
 */
export const laws: ReadonlyArray<StoreLaw> = [
  serialsGoUp,
  unwantedExpire,
  costsAreBooked,
  changesAreHeard,
  probesLeaveNothing
]
