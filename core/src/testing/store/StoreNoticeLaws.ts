/** The laws about notices: the ends that a caller is notified of, their order, their takers, and their expiry. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import { type Notice, noticesTopic } from "../../facilitator/store/PaymentStore.ts"
import type { PaymentState } from "../../protocol/Settlement.ts"
import { same, succeeds } from "../Law.ts"
import {
  change,
  flown,
  law,
  newName,
  provenUnused,
  type Store,
  type StoreLaw,
  type StoreSubject,
  taken
} from "./PaymentStoreTrial.ts"

/** Payments in one transaction, of a new caller. */
const notified = Effect.fnUntraced(function* (store: Store, subject: StoreSubject, payments: number) {
  const caller = yield* newName
  const { ids, lease } = yield* flown(store, subject, payments, { notify: true, caller })
  const step = (paymentId: string, from: PaymentState, to: PaymentState) =>
    store.record(lease, { changes: [change(paymentId, from, to)] })
  return { caller, ids, step }
})

const take = (store: Store, caller: string, leaseMillis = 1_000, limit = 1_000) =>
  store.takeNotices(new Map([[caller, limit]]), leaseMillis)

const told = Effect.fnUntraced(function* (store: Store, notices: ReadonlyArray<Notice>) {
  for (const { id } of notices) yield* store.closeNotice(id)
})

const said = (notices: ReadonlyArray<Notice>) =>
  notices.map(({ attempts, payment, status }) => [payment.paymentId, status, attempts])

const idsOf = (notices: ReadonlyArray<Notice>) => notices.map(({ payment }) => payment.paymentId)

const endsAreTold = law(
  "each kind of end is notified once, and only to callers that want notices",
  Effect.fnUntraced(function* (store, subject) {
    const { caller, ids, step } = yield* notified(store, subject, 2)
    const quiet = yield* flown(store, subject, 1, { caller })
    const [first = "", second = ""] = ids
    yield* same("before any end", yield* take(store, caller), [])
    yield* store.record(quiet.lease, { changes: [change(quiet.ids[0] ?? "", "planned", "included")] })
    yield* step(first, "planned", "sent")
    yield* subject.elapse(500)
    const at = yield* Clock.currentTimeMillis
    yield* step(first, "sent", "included")
    yield* subject.elapse(500)
    yield* step(second, "planned", "failed")
    const notices = yield* take(store, caller)
    yield* same("the notices", said(notices), [
      [first, "included", 0],
      [second, "failed", 0]
    ])
    yield* same("when", notices[0]?.at, at)
    yield* same("the record", notices[0]?.payment, yield* store.find(first))
    yield* told(store, notices)
    yield* step(first, "included", "sent")
    yield* step(first, "sent", "included")
    yield* step(first, "included", "final")
    yield* step(second, "failed", "included")
    const later = yield* take(store, caller)
    yield* same("the later notices", said(later), [
      [first, "final", 0],
      [second, "included", 0]
    ])
    yield* told(store, later)
  })
)

const noticesAreTakenOnce = law(
  "a notice is taken by one, again when its lease is over or at the time it was put off to, and never once it is closed",
  Effect.fnUntraced(function* (store, subject) {
    const { caller, ids, step } = yield* notified(store, subject, 1)
    yield* step(ids[0] ?? "", "planned", "included")
    const race = yield* Effect.forEach(Array.from({ length: 8 }), () => take(store, caller, 10_000), {
      concurrency: "unbounded"
    })
    const [notice] = race.flat()
    yield* same("how many took it", race.flat().length, 1)
    yield* subject.elapse(9_999)
    yield* same("while it is leased", yield* take(store, caller, 10_000), [])
    yield* subject.elapse(1)
    const again = yield* take(store, caller, 10_000)
    yield* same(
      "when the lease is over",
      again.map(({ attempts, id }) => [id, attempts]),
      [[notice?.id, 1]]
    )
    yield* store.closeNotice(notice?.id ?? "", 50_000)
    yield* subject.elapse(49_999)
    yield* same("before the time it was put off to", yield* take(store, caller, 10_000), [])
    yield* subject.elapse(1)
    yield* same("at that time", (yield* take(store, caller, 10_000)).length, 1)
    yield* store.closeNotice(notice?.id ?? "")
    yield* subject.elapse(100_000)
    yield* same("after it was closed", yield* take(store, caller, 10_000), [])
    yield* store.closeNotice(notice?.id ?? "", 0)
    yield* same("put off after it was closed", yield* take(store, caller, 10_000), [])
  })
)

const noticesComeInParts = law(
  "for each given caller at most its number of notices are taken, the oldest first, and none of other callers",
  Effect.fnUntraced(function* (store, subject) {
    const mine = yield* notified(store, subject, 3)
    const theirs = yield* notified(store, subject, 2)
    for (const [{ step }, id] of [
      ...mine.ids.map((id) => [mine, id] as const),
      ...theirs.ids.map((id) => [theirs, id] as const)
    ]) {
      yield* step(id, "planned", "failed")
      yield* subject.elapse(1)
    }
    const nobody = yield* newName
    const room = new Map([
      [mine.caller, 2],
      [nobody, 9],
      [theirs.caller, 1]
    ])
    const first = yield* store.takeNotices(room, 1_000)
    yield* same("the first ones", idsOf(first), [...mine.ids.slice(0, 2), ...theirs.ids.slice(0, 1)])
    const rest = yield* take(store, mine.caller)
    yield* same("the others", idsOf(rest), mine.ids.slice(2))
    yield* same("nobody's", yield* store.takeNotices(new Map(), 1_000), [])
    yield* told(store, [...first, ...rest, ...(yield* take(store, theirs.caller))])
  })
)

const orderIsKept = law(
  "a payment's end is not notified before its earlier ones, however late they are, and other payments do not wait for it",
  Effect.fnUntraced(function* (store, subject) {
    const { caller, ids, step } = yield* notified(store, subject, 2)
    const [slow = "", quick = ""] = ids
    yield* step(slow, "planned", "included")
    const [first] = yield* take(store, caller)
    yield* step(slow, "included", "final")
    yield* step(quick, "planned", "included")
    yield* step(quick, "included", "final")
    const others = yield* take(store, caller)
    yield* same("what is told while the first is on its way", said(others), [[quick, "included", 0]])
    yield* told(store, others)
    yield* store.closeNotice(first?.id ?? "", 5_000)
    const next = yield* take(store, caller)
    yield* same("what is told while the first is put off", said(next), [[quick, "final", 0]])
    yield* told(store, next)
    yield* subject.elapse(5_000)
    const again = yield* take(store, caller, 60_000)
    yield* same("what is told when it is due", said(again), [[slow, "included", 1]])
    yield* told(store, again)
    yield* same("what is told after it", said(yield* take(store, caller, 60_000)), [[slow, "final", 0]])
  })
)

const oldOnesAreGivenUp = law(
  "only notices that are too old are given up, of every caller; all open ones are counted",
  Effect.fnUntraced(function* (store, subject) {
    const age = 3_600_000
    while ((yield* store.giveUpNotices(0, 100)).size > 0);
    yield* same("none", yield* store.noticeBacklog, { count: 0, oldest: undefined })
    const { caller, ids, step } = yield* notified(store, subject, 3)
    const other = yield* notified(store, subject, 1)
    const [first = "", second = "", third = ""] = ids
    const oldest = yield* Clock.currentTimeMillis
    yield* step(first, "planned", "included")
    yield* step(second, "planned", "included")
    yield* other.step(other.ids[0] ?? "", "planned", "included")
    yield* subject.elapse(1)
    yield* step(third, "planned", "included")
    yield* same("all", yield* store.noticeBacklog, { count: 4, oldest })
    yield* take(store, caller, 10 * age, 1)
    yield* same("those that are taken too", yield* store.noticeBacklog, { count: 4, oldest })
    yield* subject.elapse(age)
    yield* same("one of them", [...(yield* store.giveUpNotices(age, 1)).values()], [1])
    const counts = [yield* store.giveUpNotices(age, 100), yield* store.giveUpNotices(age, 100)]
    yield* same("the rest of them", counts[0]?.size, 2)
    yield* same("a second time", counts[1]?.size, 0)
    const left = yield* take(store, caller)
    yield* same("what is left", said(left), [[third, "included", 0]])
    yield* same("whose is left", yield* take(store, other.caller), [])
    yield* told(store, left)
    yield* same("none again", yield* store.noticeBacklog, { count: 0, oldest: undefined })
  })
)

const untriedOnesStay = law(
  "an old notice that was taken once at most is given up, unless it is of a caller whose such notices are to stay",
  Effect.fnUntraced(function* (store, subject) {
    const age = 3_600_000
    while ((yield* store.giveUpNotices(0, 100)).size > 0);
    const { caller, ids, step } = yield* notified(store, subject, 3)
    const other = yield* notified(store, subject, 1)
    const [first = "", second = "", third = ""] = ids
    yield* step(first, "planned", "included")
    yield* take(store, caller, 1_000)
    yield* subject.elapse(1_000)
    yield* step(second, "planned", "included")
    yield* take(store, caller, 1_000)
    yield* step(third, "planned", "included")
    yield* other.step(other.ids[0] ?? "", "planned", "included")
    yield* subject.elapse(age + 1)
    const kept = new Set([caller])
    const counts = yield* store.giveUpNotices(age, 100, kept)
    yield* same("those of the caller that were taken twice", counts.get(caller), 1)
    yield* same("those of another caller", counts.get(other.caller), 1)
    yield* same(
      "what is left",
      new Map((yield* take(store, caller)).map(({ attempts, payment }) => [payment.paymentId, attempts])),
      new Map([
        [second, 1],
        [third, 0]
      ])
    )
    yield* same("the next one", (yield* store.giveUpNotices(age, 100, kept)).get(caller), 1)
    yield* same("the last one", (yield* store.giveUpNotices(age, 100)).get(caller), 1)
    yield* same("none", yield* store.noticeBacklog, { count: 0, oldest: undefined })
  })
)

const unwantedIsTold = law(
  "a payment that expires unwanted is notified as any other end",
  Effect.fnUntraced(function* (store) {
    const caller = yield* newName
    const { paymentId } = yield* taken(store, { notify: true, validFor: 1, caller })
    yield* store.endUnwanted([provenUnused(paymentId)])
    const notices = yield* take(store, caller)
    yield* same("the notices", said(notices), [[paymentId, "expired", 0]])
    yield* told(store, notices)
  })
)

const noticesAreHeard = law(
  "subscribers are notified that a notice was written",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, step } = yield* notified(store, subject, 1)
    yield* Effect.scoped(
      Effect.gen(function* () {
        const ear = yield* store.signals.listen(noticesTopic)
        const heard = yield* Effect.forkChild(ear.next)
        yield* step(ids[0] ?? "", "planned", "included")
        yield* succeeds("the notice is heard of", Fiber.join(heard))
      })
    )
  })
)

/** The laws about notices. */
export const laws: ReadonlyArray<StoreLaw> = [
  endsAreTold,
  noticesAreTakenOnce,
  noticesComeInParts,
  orderIsKept,
  oldOnesAreGivenUp,
  untriedOnesStay,
  unwantedIsTold,
  noticesAreHeard
]
