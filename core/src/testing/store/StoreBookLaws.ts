/** The laws about the data beside the payments' states: their order, their cost, and the hints about changes. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import type { UnwantedPlace } from "../../facilitator/store/PaymentStore.ts"
import type { Network } from "../../protocol/Network.ts"
import { invalid } from "../../protocol/ValidationError.ts"
import { holds, same, succeeds } from "../Law.ts"
import {
  change,
  claimed,
  firstNumber,
  flown,
  inclusionOf,
  law,
  loses,
  newClaim,
  newLane,
  newName,
  newPayment,
  opened,
  planOf,
  provenUnused,
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

/** All pages, of a limited size, of a network's unwanted payments. */
const unwantedOf = Effect.fnUntraced(function* (store: Store, network: string, validBefore: number, limit: number) {
  const found: Array<string> = []
  let after: UnwantedPlace | undefined
  while (true) {
    const page = yield* store.unwanted(network, validBefore, limit, after)
    yield* holds(`a page holds no more than ${limit}`, page.length <= limit)
    found.push(...idsOf(page))
    const last = page.at(-1)
    if (last === undefined) return found
    after = { validBefore: last.authorization.validBefore, serial: last.serial }
  }
})

const unwantedAreListed = law(
  "payments of a network that no caller wants settled are listed by the end of their validity, page by page",
  Effect.fnUntraced(function* (store, subject) {
    const { name: lane, network } = yield* newLane
    const { network: other } = yield* newLane
    const on = (place: Network, validFor: number) =>
      Effect.gen(function* () {
        const payment = yield* newPayment({ validFor })
        yield* claimed(store, { ...payment, requirements: { ...payment.requirements, network: place } }, undefined)
        return payment
      })
    const made = yield* Effect.forEach([70, 60, 65, 60, 62, 61], (validFor) => on(network, validFor))
    const [longest, first, fourth, second, third, queued] = made.map(({ paymentId }) => paymentId)
    const elsewhere = yield* on(other, 60)
    const unwanted = [first, second, third, fourth]
    const over = made[0]?.authorization.validBefore ?? 0
    yield* store.queue(queued ?? "", lane)
    for (const limit of [1, 2, 3, 9]) {
      yield* same(`by ${limit}`, yield* unwantedOf(store, network, over, limit), unwanted)
    }
    yield* same("with the longest", yield* unwantedOf(store, network, over + 1, 2), [...unwanted, longest])
    yield* same("with a part of a second", yield* unwantedOf(store, network, over + 0.5, 9), [...unwanted, longest])
    yield* same("on another network", yield* unwantedOf(store, other, over, 9), [elsewhere.paymentId])
    yield* same("before any ends", yield* store.unwanted(network, over - 10, 9), [])
    const [record] = yield* store.unwanted(network, over, 1)
    yield* same("the record", record, yield* store.find(first ?? ""))
    const lease = yield* opened(store, subject, lane)
    yield* store.plan(lease, [yield* planOf(firstNumber, [queued ?? ""])])
    yield* same("while one travels", yield* unwantedOf(store, network, over, 9), unwanted)
    yield* store.endUnwanted([provenUnused(second ?? "")])
    yield* same("after one has ended", yield* unwantedOf(store, network, over, 2), [first, third, fourth])
  })
)

const unwantedEnd = law(
  "payments that are proven unused end if no caller wants them settled, and no others",
  Effect.fnUntraced(function* (store, subject) {
    const unwanted = yield* taken(store)
    const unproven = yield* taken(store)
    const { name: lane } = yield* newLane
    const [queued = ""] = yield* waiting(store, lane, 1)
    const { ids } = yield* flown(store, subject, 1)
    const [pending = ""] = ids
    const named = [unwanted.paymentId, queued, pending, `pay_${yield* newName}`].map(provenUnused)
    yield* same("the payments that end", idsOf(yield* store.endUnwanted(named)), [unwanted.paymentId])
    yield* statusIs(store, unwanted.paymentId, "expired")
    const { history, refusal } = (yield* store.find(unwanted.paymentId)) ?? {}
    yield* same("why", refusal?._tag === "PaymentError" && refusal.code, "EXPIRED_PAYMENT")
    yield* same("by what", history?.at(-1)?.note, `unused at block ${2n ** 70n}, which is final`)
    yield* statusIs(store, unproven.paymentId, "accepted")
    yield* statusIs(store, queued, "accepted")
    yield* statusIs(store, pending, "planned")
    yield* same("the queue", idsOf(yield* store.queued(lane, 9)), [queued])
    yield* same("the payments that end again", yield* store.endUnwanted(named), [])
    yield* same("a second time", (yield* store.find(unwanted.paymentId))?.history.length, 2)
    yield* same("the ends of none", yield* store.endUnwanted([]), [])
    const canceled = yield* taken(store)
    const reason = invalid("already_used", "canceled", "the authorization was canceled")
    const [rejected] = yield* store.endUnwanted([{ ...provenUnused(canceled.paymentId), reason }])
    const onRecord = yield* store.find(canceled.paymentId)
    for (const one of [rejected, onRecord]) {
      const { refusal: why, status } = one ?? {}
      const told = [why?._tag, why?.detail, why?.message]
      yield* same("with a reason", [status, ...told], ["rejected", reason._tag, reason.detail, reason.message])
    }
  })
)

const hour = 3_600_000

const costsAreBooked = law(
  "the cost of an inclusion is divided among its payments' callers, to the hour, and of another inclusion the part by which it costs more",
  Effect.fnUntraced(function* (store, subject) {
    const { name: lane, network } = yield* newLane
    const [mine, theirs] = [yield* newName, yield* newName]
    const ids = [
      ...(yield* waiting(store, lane, 2, { caller: mine })),
      ...(yield* waiting(store, lane, 1, { caller: theirs }))
    ]
    const lease = yield* opened(store, subject, lane)
    yield* store.plan(lease, [yield* planOf(firstNumber, ids), yield* planOf(firstNumber + 1n, [])])
    const start = yield* Clock.currentTimeMillis
    const part = 2n ** 70n
    const prepared = yield* signed(firstNumber)
    const inclusion = inclusionOf(prepared, 3n * part + 2n)
    yield* same("before", yield* store.spent(network, 0), 0n)
    yield* store.record(lease, { changes: [], transaction: { number: firstNumber, inclusion } })
    yield* same("one caller's", yield* store.spent(network, start, mine), 2n * part + 2n)
    yield* same("the other's", yield* store.spent(network, start, theirs), part)
    yield* same("everybody's", yield* store.spent(network, start), 3n * part + 2n)
    yield* same("somebody's", yield* store.spent(network, start, yield* newName), 0n)
    yield* same("on another network", yield* store.spent(`${network}x`, 0), 0n)
    yield* store.record(lease, { changes: [], transaction: { number: firstNumber, inclusion: null } })
    yield* store.record(lease, { changes: [], transaction: { number: firstNumber, inclusion } })
    yield* same("after it was included again", yield* store.spent(network, start), 3n * part + 2n)
    const dearer = inclusionOf(prepared, 4n * part + 2n)
    yield* store.record(lease, { changes: [], transaction: { number: firstNumber, inclusion: null } })
    yield* store.record(lease, { changes: [], transaction: { number: firstNumber, inclusion: dearer } })
    yield* same("after it was included at a higher price", yield* store.spent(network, start), 4n * part + 2n)
    const cheaper = inclusionOf(prepared, 1n)
    yield* store.record(lease, { changes: [], transaction: { number: firstNumber, inclusion: null } })
    yield* store.record(lease, { changes: [], transaction: { number: firstNumber, inclusion: cheaper } })
    yield* same("after it was included at a lower price", yield* store.spent(network, start), 4n * part + 2n)
    yield* subject.elapse(2 * hour)
    yield* store.record(lease, {
      changes: [],
      transaction: { number: firstNumber + 1n, inclusion: inclusionOf(prepared, 5n) }
    })
    yield* same("nobody's transaction", yield* store.spent(network, start, ""), 5n)
    yield* same("everything", yield* store.spent(network, start), 4n * part + 7n)
    yield* same("since a later hour", yield* store.spent(network, start + 2 * hour), 5n)
    yield* same("since tomorrow", yield* store.spent(network, start + 26 * hour), 0n)
  })
)

/** Runs the change; an earlier subscriber of the topic must be notified. */
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
  "subscribers are notified of changes that can be acted on: a payment's execution, end or return, and payments queued in a lane",
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
    const plan = yield* planOf(firstNumber, [paymentId])
    yield* store.plan(lease, [plan])
    yield* store.record(lease, { changes: [change(paymentId, "planned", "sent")] })
    yield* rings(store, paymentId, "its finish", store.finish(paymentId, claim.id, "served"))
    const back = { changes: [change(paymentId, "sent", "accepted")] }
    const comingBack = rings(store, paymentId, "its coming back", store.record(lease, back))
    yield* rings(store, lane, "its waiting again", comingBack)
    yield* store.plan(lease, [yield* planOf(firstNumber + 1n, [paymentId])])
    const end = { changes: [change(paymentId, "planned", "failed")] }
    yield* rings(store, paymentId, "its end", store.record(lease, end))
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

/** The laws about the data beside the payments' states. */
export const laws: ReadonlyArray<StoreLaw> = [
  serialsGoUp,
  unwantedAreListed,
  unwantedEnd,
  costsAreBooked,
  changesAreHeard,
  probesLeaveNothing
]
