/** The ceilings of what settling may cost, and their shares for callers. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import type { SpendLimits } from "../../../src/facilitator/lane/SpendLimits.ts"
import * as LedgerShop from "../LedgerShop.ts"
import { idsOf } from "../LedgerSteps.ts"

const { claim, pay } = LedgerShop

/** The most that a transaction for one payment may cost on this ledger. */
const costOfOne = 71n * 22n

/** Settles payments of a caller one after another, until one is refused; how many were settled, and why the next was not. */
const exhaust = Effect.fnUntraced(function* (shop: Pick<LedgerShop.Shop, "facilitator">, caller: string) {
  for (let settled = 0; ; settled++) {
    const settling = shop.facilitator.settle(yield* pay(), claim(`${caller}${settled}`))
    const end = yield* Effect.result(LedgerShop.as(caller, settling))
    if (end._tag === "Failure") return { settled, why: end.failure.message }
  }
})

const open = (gasCeilings: SpendLimits) => LedgerShop.open({ gasCeilings })

const callers = () => ["cheap", "dear"]
const total = 40n * costOfOne

describe("the default ceiling of a network", () => {
  it.effect("leaves a caller its part when another one's cheap goods have used up all they can", () =>
    Effect.gen(function* () {
      const shop = yield* open({ total: () => total, callers })
      const cheap = yield* exhaust(shop, "cheap")
      assert.include(cheap.why, "this caller's share of the ceiling")
      const dear = yield* exhaust(shop, "dear")
      assert.isAtLeast(dear.settled, 10)
      assert.isAbove(cheap.settled, dear.settled)
      const facilitator = yield* shop.rest("25 hours")
      assert.strictEqual((yield* exhaust({ facilitator }, "cheap")).settled, cheap.settled)
    })
  )

  it.effect("is all a caller's that is alone, or that nobody tells from others", () =>
    Effect.gen(function* () {
      const alone = yield* exhaust(yield* open({ total: () => total, callers: () => ["cheap"] }), "cheap")
      const nameless = yield* exhaust(yield* open({ total: () => total }), "")
      assert.strictEqual(alone.settled, nameless.settled)
      assert.include(alone.why, "the ceiling of what settling may cost")
      const shared = yield* exhaust(yield* open({ total: () => total, callers }), "cheap")
      assert.isBelow(shared.settled, alone.settled)
    })
  )

  it.effect("gives way to a caller's own ceiling, be it more or less", () =>
    Effect.gen(function* () {
      const more = yield* open({
        total: () => total,
        callers,
        caller: (name) => (name === "cheap" ? 39n * costOfOne : undefined)
      })
      const shared = yield* exhaust(yield* open({ total: () => total, callers }), "cheap")
      assert.isAbove((yield* exhaust(more, "cheap")).settled, shared.settled)
      const less = yield* open({
        total: () => total,
        callers,
        caller: (name) => (name === "cheap" ? 2n * costOfOne : undefined)
      })
      assert.isAtMost((yield* exhaust(less, "cheap")).settled, 4)
      assert.isAbove((yield* exhaust(less, "dear")).settled, shared.settled)
    })
  )
})

describe("a batch", () => {
  it.effect("of a caller at the end of its share is as small as the share allows", () =>
    Effect.gen(function* () {
      const shop = yield* LedgerShop.open({
        batches: { maximum: 20, windowMillis: 50 },
        gasCeilings: { total: () => 8n * costOfOne, callers }
      })
      const settledOf = Effect.fnUntraced(function* (caller: string, count: number) {
        const settling = LedgerShop.settleMany(shop.facilitator, count, caller)
        const fibers = yield* LedgerShop.as(caller, settling)
        yield* TestClock.adjust("5 seconds")
        return (yield* LedgerShop.endsOf(fibers)).filter((end) => end === "Success").length
      })
      const cheap = yield* settledOf("cheap", 20)
      assert.isAtLeast(cheap, 4)
      assert.isBelow(cheap, 20)
      assert.isAtLeast(yield* settledOf("dear", 2), 1)
    })
  )
})

describe("ceilings of what settling may cost", () => {
  it.effect("hold for all: nothing is sent beyond them, and after a day there is room again", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, rest } = yield* LedgerShop.open({ gasCeilings: { total: () => 4_000n } })
      let spent = 0n
      let refused = 0
      for (let index = 0; index < 10; index++) {
        const end = yield* Effect.result(facilitator.settle(yield* pay(), claim(`n${index}`)))
        if (end._tag === "Failure") {
          assert.include(end.failure.message, "ceiling")
          refused++
        }
      }
      for (const id of idsOf(ledger)) spent += ledger.receipt(id)?.cost ?? 0n
      assert.isAbove(refused, 0)
      assert.isBelow(refused, 10)
      assert.isTrue(spent <= 4_000n)
      const soon = yield* rest("1 hour")
      assert.include((yield* Effect.flip(soon.settle(yield* pay(), claim("soon")))).message, "ceiling")
      const late = yield* rest("24 hours")
      assert.strictEqual((yield* late.settle(yield* pay(), claim("late"))).status, "included")
    })
  )

  it.effect("hold for each caller by itself", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({
        gasCeilings: { caller: (name) => (name === "greedy" ? 0n : undefined) }
      })
      const greedy = yield* Effect.flip(LedgerShop.as("greedy", facilitator.settle(yield* pay(), claim("a"))))
      assert.include(greedy.message, "ceiling")
      const modest = yield* LedgerShop.as("modest", facilitator.settle(yield* pay(), claim("b")))
      assert.strictEqual(modest.status, "included")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )
})
