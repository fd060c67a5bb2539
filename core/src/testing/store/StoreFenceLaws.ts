/**
 * The laws about fencing: a worker that has lost a lane writes nothing more in it, however late it learns of the loss.
 */
import * as Effect from "effect/Effect"

import type { Lease, LeaseLost } from "../../facilitator/store/LaneLeases.ts"
import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import { same } from "../Law.ts"
import {
  change,
  firstNumber,
  flown,
  inclusionOf,
  law,
  loses,
  opened,
  planOf,
  signed,
  staffed,
  type Store,
  type StoreLaw,
  waiting
} from "./PaymentStoreTrial.ts"

const everything = Effect.fnUntraced(function* (store: Store, lane: string, ids: ReadonlyArray<string>) {
  const records = yield* Effect.forEach(ids, store.find)
  return { records, transactions: yield* store.openTransactions(lane), queued: yield* store.queued(lane, 100) }
})

const staleWritesNothing = law(
  "a lease that has passed on opens, skips, plans, replaces and records nothing; the new one does all of it",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, lane, lease: stale, prepared } = yield* flown(store, subject, 1)
    const [flying = ""] = ids
    const [queued = ""] = yield* waiting(store, lane, 1)
    const lease = yield* opened(store, subject, lane)
    const before = yield* everything(store, lane, [flying, queued])
    const plan = yield* planOf(firstNumber + 1n, [queued])
    const dearer = yield* signed(firstNumber)
    const write = {
      changes: [change(flying, "planned", "included")],
      transaction: { number: firstNumber, inclusion: inclusionOf(prepared), closed: true as const }
    }
    const writes: Readonly<
      Record<string, (lease: Lease) => Effect.Effect<unknown, FacilitatorUnavailable | LeaseLost>>
    > = {
      openLane: (holder) => store.openLane(holder, 99n),
      plan: (holder) => store.plan(holder, [plan]),
      "plan of nothing": (holder) => store.plan(holder, []),
      replace: (holder) => store.replace(holder, firstNumber, dearer),
      enter: (holder) => store.record(holder, write),
      "enter nothing": (holder) => store.record(holder, { changes: [] }),
      skipTo: (holder) => store.skipTo(holder, 1_000n),
      fillGap: (holder) => store.fillGap(holder, 500n, dearer)
    }
    for (const [name, write] of Object.entries(writes)) yield* loses(name, write(stale))
    yield* same("the records after the stale writes", yield* everything(store, lane, [flying, queued]), before)
    yield* same("the next number", yield* store.openLane(lease, 0n), firstNumber + 1n)
    for (const write of Object.values(writes)) yield* write(lease)
  })
)

const lanesAreApart = law(
  "a lease is good for its own lane alone",
  Effect.fnUntraced(function* (store, subject) {
    const { lane, lease } = yield* staffed(store, subject, 1)
    const other = yield* staffed(store, subject, 1)
    yield* opened(store, subject, lane)
    yield* loses("the lane that was lost", store.skipTo(lease, 9n))
    yield* store.skipTo(other.lease, 9n)
    yield* loses("a payment of the other lane", store.plan(other.lease, [yield* planOf(9n, other.ids.concat("pay_x"))]))
  })
)

const onePlanWins = law(
  "of two holders that plan at once exactly one does, and of many plans for one number one is kept",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, lane, lease: older } = yield* staffed(store, subject, 2)
    const newer = yield* subject.lease(lane)
    const race = yield* Effect.forEach(
      [older, newer],
      (lease) => Effect.result(Effect.flatMap(planOf(firstNumber, ids), (plan) => store.plan(lease, [plan]))),
      { concurrency: "unbounded" }
    )
    yield* same("how many planned", race.filter(({ _tag }) => _tag === "Success").length, 1)
    const [transaction, ...others] = yield* store.openTransactions(lane)
    yield* same("how many transactions", [transaction?.number, others.length], [firstNumber, 0])
    yield* same("its attempts", transaction?.attempts.length, 1)
    const many = yield* Effect.forEach(
      Array.from({ length: 10 }),
      () => Effect.result(Effect.flatMap(planOf(firstNumber + 1n, []), (plan) => store.plan(newer, [plan]))),
      { concurrency: "unbounded" }
    )
    yield* same("how many of many", many.filter(({ _tag }) => _tag === "Success").length, 1)
  })
)

/** The laws about fencing. */
export const laws: ReadonlyArray<StoreLaw> = [staleWritesNothing, lanesAreApart, onePlanWins]
