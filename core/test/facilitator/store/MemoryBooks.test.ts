import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as MemoryBooks from "../../../src/facilitator/store/MemoryBooks.ts"
import * as PaymentChange from "../../../src/facilitator/store/PaymentChange.ts"
import type { StoredPayment } from "../../../src/facilitator/store/PaymentStore.ts"
import * as PaymentStoreTrial from "../../../src/testing/store/PaymentStoreTrial.ts"

const hour = 3_600_000

describe("the costs of a memory store", () => {
  it("are booked to callers by network, to the last unit", () => {
    const costs = MemoryBooks.makeCosts()
    costs.book("ledger:a one", 11n, ["ann", "bob", "ann"], 0)
    costs.book("ledger:a two", 5n, ["bob"], 0)
    costs.book("ledger:b one", 900n, ["ann"], 0)
    assert.deepStrictEqual(
      [...costs.byCaller("ledger:a", 0)],
      [
        ["ann", 8n],
        ["bob", 8n]
      ]
    )
    assert.strictEqual(costs.spent("ledger:a", 0, undefined), 16n)
    assert.strictEqual(costs.spent("ledger:a", 0, "ann"), 8n)
    assert.strictEqual(costs.spent("ledger:a", 0, "carl"), 0n)
    assert.strictEqual(costs.spent("ledger:c", 0, undefined), 0n)
  })

  it("count from the hour on that is wanted, and are forgotten after two days", () => {
    const costs = MemoryBooks.makeCosts()
    costs.book("ledger:a one", 1n, ["ann"], 10 * hour)
    costs.book("ledger:a one", 20n, ["ann"], 11 * hour)
    assert.strictEqual(costs.spent("ledger:a", 10 * hour + 1, "ann"), 21n)
    assert.strictEqual(costs.spent("ledger:a", 11 * hour, "ann"), 20n)
    costs.book("ledger:a one", 300n, ["ann"], 59 * hour)
    assert.strictEqual(costs.spent("ledger:a", 0, "ann"), 320n)
  })
})

/** A caller's payment that has moved from `sent` to this state. */
const changed = Effect.fnUntraced(function* (caller: string, status: "included" | "final" | "failed") {
  const payment = yield* PaymentStoreTrial.newPayment({ caller, notify: true })
  const before: StoredPayment = { ...PaymentChange.created(payment, undefined, 1n, "ledger:a one", 0), status: "sent" }
  return { before, after: reached(before, status) }
})

const reached = (before: StoredPayment, status: StoredPayment["status"]): StoredPayment => ({
  ...before,
  status,
  history: [...before.history, { status, at: 1 }]
})

const statuses = (notices: MemoryBooks.MemoryNotices, room: ReadonlyMap<string, number>, now: number, until = now) =>
  notices
    .take(room, until, now, (paymentId) => ({ ...anyone, paymentId }))
    .map(({ attempts, status }) => [status, attempts])

const anyone = PaymentChange.created(Effect.runSync(PaymentStoreTrial.newPayment()), undefined, 1n, undefined, 0)

describe("the notices of a memory store", () => {
  it.effect("are of ends that a caller wants to hear of, once each", () =>
    Effect.gen(function* () {
      const notices = MemoryBooks.makeNotices()
      const { after, before } = yield* changed("ann", "failed")
      assert.isTrue(notices.follow(before, after, 5))
      assert.isFalse(notices.follow(after, after, 6))
      assert.isFalse(notices.follow({ ...before, notify: false }, { ...after, notify: false }, 7))
      assert.isFalse(notices.follow(undefined, before, 8))
      assert.deepStrictEqual(notices.backlog(), { count: 1, oldest: 5 })
      assert.isTrue(notices.isOpenFor(after))
      assert.isFalse(notices.isOpenFor({ ...after, paymentId: "pay_other" }))
    })
  )

  it.effect("leave each caller its own queue: as many as there is room for, and not before they are due", () =>
    Effect.gen(function* () {
      const notices = MemoryBooks.makeNotices()
      for (const caller of ["ann", "ann", "bob"]) {
        const { after, before } = yield* changed(caller, "failed")
        notices.follow(before, after, 0)
      }
      const room = new Map([["ann", 1]])
      assert.deepStrictEqual(statuses(notices, room, 10, 50), [["failed", 0]])
      assert.deepStrictEqual(statuses(notices, new Map([["ann", 9]]), 10, 50), [["failed", 0]])
      assert.deepStrictEqual(statuses(notices, new Map([["ann", 9]]), 49), [])
      assert.deepStrictEqual(
        statuses(
          notices,
          new Map([
            ["ann", 9],
            ["bob", 9]
          ]),
          50
        ),
        [
          ["failed", 1],
          ["failed", 1],
          ["failed", 0]
        ]
      )
    })
  )

  it.effect("of one payment follow each other: the later waits until the earlier is closed", () =>
    Effect.gen(function* () {
      const notices = MemoryBooks.makeNotices()
      const { after, before } = yield* changed("ann", "included")
      notices.follow(before, after, 0)
      notices.follow(after, reached(after, "final"), 1)
      const room = new Map([["ann", 9]])
      const first = `${after.paymentId} included`
      assert.deepStrictEqual(statuses(notices, room, 1), [["included", 0]])
      notices.close(first, 100)
      assert.deepStrictEqual(statuses(notices, room, 99), [])
      assert.deepStrictEqual(statuses(notices, room, 100), [["included", 1]])
      notices.close(first, undefined)
      assert.deepStrictEqual(statuses(notices, room, 100), [["final", 0]])
      notices.close(`${after.paymentId} final`, undefined)
      notices.close("pay_unknown final", undefined)
      assert.deepStrictEqual(notices.backlog(), { count: 0, oldest: undefined })
    })
  )

  it.effect("are given up by age, no more at once than asked for", () =>
    Effect.gen(function* () {
      const notices = MemoryBooks.makeNotices()
      for (const [caller, at] of [
        ["ann", 1],
        ["ann", 2],
        ["bob", 3],
        ["bob", 9]
      ] as const) {
        const { after, before } = yield* changed(caller, "failed")
        notices.follow(before, after, at)
      }
      assert.deepStrictEqual([...notices.giveUp(9, 1)], [["ann", 1]])
      assert.deepStrictEqual(
        [...notices.giveUp(9, 5)],
        [
          ["ann", 1],
          ["bob", 1]
        ]
      )
      assert.deepStrictEqual([...notices.giveUp(9, 5)], [])
      assert.deepStrictEqual(notices.backlog(), { count: 1, oldest: 9 })
    })
  )
})
