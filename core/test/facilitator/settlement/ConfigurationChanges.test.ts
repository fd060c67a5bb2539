/** A configuration that changes between restarts: what was begun under the earlier one comes to its end under the later one. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as TestScheme from "../../../src/testing/TestScheme.ts"
import * as LedgerShop from "../LedgerShop.ts"

const { settleMany } = LedgerShop

const statusesIn = Effect.fnUntraced(function* ({ store }: Pick<LedgerShop.Shop, "store">) {
  return (yield* store.page(0n, 100)).map(({ status }) => status)
})

/** Payments on their way in one transaction that no block takes, when their process ends. */
const interrupted = Effect.fnUntraced(function* (count: number, options: LedgerShop.Options) {
  const shop = yield* LedgerShop.open({ settleTimeoutMillis: 600_000, ...options })
  shop.ledger.faults.holdBlocks = true
  const callers = yield* settleMany(shop.facilitator, count)
  yield* TestClock.adjust("1 second")
  for (const caller of callers) yield* Fiber.interrupt(caller)
  return shop
})

describe("a lower maximum of a batch", () => {
  for (const [name, batches] of [
    ["that is lower", { maximum: 2, windowMillis: 50 }],
    ["of none", undefined]
  ] as const) {
    it.effect(`${name} does not keep a batch on its way from being replaced with all of its payments`, () =>
      Effect.gen(function* () {
        const shop = yield* interrupted(5, { batches: { maximum: 5, windowMillis: 50 } })
        const { ledger, restartWith } = shop
        yield* restartWith([TestScheme.facilitator(ledger, batches === undefined ? {} : { batches })])
        ledger.market.base = 60n
        ledger.faults.holdBlocks = false
        yield* TestClock.adjust("40 seconds")
        assert.deepStrictEqual(yield* statusesIn(shop), Array(5).fill("final"))
        assert.deepStrictEqual(new Set(ledger.submissions.map(({ orders }) => orders.length)), new Set([5]))
        assert.strictEqual(ledger.transfers.length, 5)
      })
    )
  }

  it.effect("of what one transaction may cost does not either", () =>
    Effect.gen(function* () {
      const batches = { maximum: 5, windowMillis: 50 }
      const shop = yield* interrupted(5, { batches })
      const { ledger, restartWith } = shop
      yield* restartWith([TestScheme.facilitator(ledger, { batches: { ...batches, maximumCost: 100n } })])
      ledger.market.base = 60n
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("40 seconds")
      assert.deepStrictEqual(yield* statusesIn(shop), Array(5).fill("final"))
    })
  )
})
