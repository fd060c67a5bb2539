/** The laws about old records: which are deleted, which never are, and that a deletion leaves nothing behind. */
import * as Effect from "effect/Effect"

import type { PaymentState } from "../../protocol/Settlement.ts"
import { same } from "../Law.ts"
import {
  change,
  claimed,
  firstNumber,
  inclusionOf,
  law,
  newLane,
  newPayment,
  opened,
  planOf,
  provenUnused,
  queuedIn,
  type Store,
  type StoreLaw,
  type StoreSubject,
  taken,
  type Wish
} from "./PaymentStoreTrial.ts"

/** The age of the laws: less than the day after which the memory store drops records itself. */
const part = 600_000
const age = 12 * part

/** Deletes all records that may be deleted now, in several steps; returns their number. */
const forgotten = Effect.fnUntraced(function* (store: Store, after: bigint, ageMillis = age) {
  let total = 0
  let next: bigint | undefined = after
  while (next !== undefined) {
    const step: { readonly count: number; readonly next: bigint | undefined } = yield* store.forget(ageMillis, next, 3)
    total += step.count
    next = step.next
  }
  return total
})

/** The course of a payment of these laws: its states, and the outcome of its execution. */
interface Course {
  readonly states: ReadonlyArray<PaymentState>
  readonly outcome?: "served" | "failed"
  readonly isOpen?: boolean
  readonly wish?: Wish
}

/** A payment after its course, in a transaction of its own. */
const gone = Effect.fnUntraced(function* (store: Store, subject: StoreSubject, course: Course) {
  const { isOpen = false, outcome, states, wish } = course
  const { name: lane } = yield* newLane
  const { claim, paymentId, stored } = yield* taken(store, wish)
  yield* queuedIn(store, paymentId, lane)
  const lease = yield* opened(store, subject, lane)
  const plan = yield* planOf(firstNumber, [paymentId])
  yield* store.plan(lease, [plan])
  let from: PaymentState = "planned"
  for (const to of states) {
    yield* store.record(lease, { changes: [change(paymentId, from, to)] })
    from = to
  }
  const transaction = {
    number: firstNumber,
    inclusion: inclusionOf(plan.prepared, 1n),
    ...(!isOpen && { closed: true as const })
  }
  yield* store.record(lease, { changes: [], transaction })
  if (outcome !== undefined) yield* store.finish(paymentId, claim.id, outcome)
  return { paymentId, serial: stored.serial, lane }
})

const isThere = (store: Store, paymentId: string) => Effect.map(store.find(paymentId), (found) => found !== undefined)

const overIsForgotten = law(
  "records are deleted when they were over for longer than the age, whatever their end, and leave nothing behind",
  Effect.fnUntraced(function* (store, subject) {
    const served = yield* gone(store, subject, { states: ["included", "final"], outcome: "served" })
    const failed = yield* gone(store, subject, { states: ["sent", "failed"], outcome: "failed" })
    const told = yield* gone(store, subject, {
      states: ["included", "final"],
      outcome: "served",
      wish: { notify: true }
    })
    for (const notices of [1, 2]) {
      const due = yield* store.takeNotices(new Map([["", 9]]), part)
      yield* same(`the notices, take ${notices}`, due.length, 1)
      for (const { id } of due) yield* store.closeNotice(id)
    }
    const unwanted = yield* taken(store)
    const all = [served, failed, told, { paymentId: unwanted.paymentId, serial: unwanted.stored.serial }]
    yield* subject.elapse(2 * part)
    yield* store.endUnwanted([provenUnused(unwanted.paymentId)])
    yield* taken(store)
    const before = served.serial - 1n
    yield* subject.elapse(age - 2 * part)
    yield* same("how many before their time", yield* forgotten(store, before), 0)
    yield* subject.elapse(3 * part)
    yield* gone(store, subject, { states: ["included"], wish: { notify: true } })
    for (const { id } of yield* store.takeNotices(new Map([["", 9]]), part)) yield* store.closeNotice(id)
    yield* taken(store)
    yield* same("how many", yield* forgotten(store, before), all.length)
    for (const { paymentId } of all) yield* same("what is found", yield* store.find(paymentId), undefined)
    const left = yield* store.page(before, 99)
    yield* same(
      "the listed payments",
      left.some(({ serial }) => all.some((one) => one.serial === serial)),
      false
    )
    yield* same("how many after that", yield* forgotten(store, before), 0)
    const again = yield* claimed(store, unwanted.payment, unwanted.claim)
    yield* same("whether a name can be had again", again.created, true)
    const newest = left.reduce((most, { serial }) => (serial > most ? serial : most), 0n)
    yield* same("whether a serial comes twice", again.payment.serial > newest, true)
  })
)

const needed: Readonly<Record<string, Course>> = {
  "one that was paid for and not served": { states: ["included", "final"], outcome: "failed" },
  "one that was paid for and whose server said nothing more": { states: ["included", "final"] },
  "one whose block may be taken back": { states: ["included"], outcome: "served" },
  "one on its way": { states: ["sent"], outcome: "failed", isOpen: true },
  "one whose transaction is still watched": { states: ["sent", "failed"], outcome: "failed", isOpen: true },
  "one whose caller was not told": { states: ["included", "final"], outcome: "served", wish: { notify: true } },
  "one that is valid for long": { states: ["included", "final"], outcome: "served", wish: { validFor: 500 * 3600 } }
}

const neededIsKept = law(
  "no record is deleted that proves a debt, may still change, has an open notice, or whose authorization can still be used",
  Effect.fnUntraced(function* (store, subject) {
    const kept: Array<readonly [string, string, bigint]> = []
    for (const [what, course] of Object.entries(needed)) {
      const { paymentId, serial } = yield* gone(store, subject, course)
      kept.push([what, paymentId, serial])
    }
    const { name: lane } = yield* newLane
    const waits = yield* taken(store)
    yield* queuedIn(store, waits.paymentId, lane)
    const unanswered = yield* newPayment()
    yield* claimed(store, unanswered, undefined, { lane })
    const lease = yield* opened(store, subject, lane)
    yield* store.plan(lease, [yield* planOf(firstNumber, [unanswered.paymentId])])
    for (const [from, to] of [
      ["planned", "included"],
      ["included", "final"]
    ] as const) {
      yield* store.record(lease, { changes: [change(unanswered.paymentId, from, to)] })
    }
    yield* store.record(lease, { changes: [], transaction: { number: firstNumber, closed: true } })
    kept.push(["one that waits in a lane", waits.paymentId, waits.stored.serial])
    kept.push(["one whose caller is owed the answer", unanswered.paymentId, waits.stored.serial])
    yield* subject.elapse(10 * age)
    yield* taken(store)
    const before = (kept[0]?.[2] ?? 0n) - 1n
    yield* same("how many are forgotten", yield* forgotten(store, before), 0)
    for (const [what, paymentId] of kept)
      yield* same(`whether ${what} is there`, yield* isThere(store, paymentId), true)
    for (const { id } of yield* store.takeNotices(new Map([["", 9]]), part)) yield* store.closeNotice(id)
    for (const { id } of yield* store.takeNotices(new Map([["", 9]]), part)) yield* store.closeNotice(id)
  })
)

const newestIsKept = law(
  "the newest record is kept at any age, so that no serial repeats",
  Effect.fnUntraced(function* (store, subject) {
    const first = yield* gone(store, subject, { states: ["included", "final"], outcome: "served" })
    const last = yield* gone(store, subject, { states: ["included", "final"], outcome: "served" })
    yield* subject.elapse(10 * age)
    yield* same("how many", yield* forgotten(store, first.serial - 1n), 1)
    yield* same("whether the newest is there", yield* isThere(store, last.paymentId), true)
    const { stored } = yield* taken(store)
    yield* same("whether the next serial is higher", stored.serial > last.serial, true)
    yield* same("how many after it", yield* forgotten(store, first.serial - 1n), 1)
  })
)

const stepsAreSmall = law(
  "a step checks at most the given number of records, and continues where the last one ended",
  Effect.fnUntraced(function* (store, subject) {
    const all = yield* Effect.forEach(Array.from({ length: 5 }), () =>
      gone(store, subject, { states: ["included", "final"], outcome: "served" })
    )
    yield* taken(store)
    yield* subject.elapse(10 * age)
    yield* taken(store)
    const [first, second, third] = all.map(({ serial }) => serial)
    const start = (first ?? 0n) - 1n
    yield* same("one step", yield* store.forget(age, start, 2), { count: 2, next: second })
    yield* same("from further on", yield* store.forget(age, third ?? 0n, 1), { count: 1, next: all[3]?.serial })
    yield* same("what was passed by", yield* isThere(store, all[2]?.paymentId ?? ""), true)
    yield* same("the rest", yield* forgotten(store, start), 2)
  })
)

/** The laws about old records. */
export const laws: ReadonlyArray<StoreLaw> = [overIsForgotten, neededIsKept, newestIsKept, stepsAreSmall]
