import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as Replacement from "../../../src/facilitator/lane/Replacement.ts"
import * as TrackedTransaction from "../../../src/facilitator/lane/TrackedTransaction.ts"
import type { Fees } from "../../../src/scheme/SchemeFacilitator.ts"
import * as LedgerShop from "../LedgerShop.ts"
import { begin, idsOf, patient } from "../LedgerSteps.ts"

const { claim, pay } = LedgerShop

describe("a replacement on a chain", () => {
  it.effect(
    "bytes that offer too little are replaced in their slot by an eighth more, and never above the ceiling",
    () =>
      Effect.gen(function* () {
        const { facilitator, ledger, store } = yield* LedgerShop.open(patient)
        ledger.finality = 1_000
        ledger.faults.holdBlocks = true
        const fiber = yield* begin(facilitator.settle(yield* pay({ validFor: 80 }), claim("a")))
        ledger.market.base = 2_000n
        ledger.faults.holdBlocks = false
        yield* TestClock.adjust("30 seconds")
        assert.isAbove(idsOf(ledger).size, 1)
        assert.isTrue(ledger.submissions.every(({ fees }) => fees !== undefined && fees.maximum <= 1_000n))
        assert.strictEqual(ledger.transfers.length, 0)
        ledger.market.base = 100n
        yield* TestClock.adjust("20 seconds")
        const settled = yield* Fiber.join(fiber)
        assert.strictEqual(settled.status, "included")
        const [onRecord] = yield* store.openTransactions("ledger:test signer-1")
        const [first, second] = onRecord?.attempts ?? []
        assert.isTrue((second?.fees?.maximum ?? 0n) * 8n >= (first?.fees?.maximum ?? 0n) * 9n)
        assert.strictEqual(second?.slot?.number, first?.slot?.number)
        assert.isTrue(onRecord?.attempts.some(({ transaction }) => transaction === settled.transaction))
        assert.strictEqual(ledger.transfers.length, 1)
      })
  )
})

/** Bytes on record that cost at most 8,000. */
const bytes = {
  slot: { lane: "signer", number: 7n },
  transaction: "0x7",
  bytes: "0x70",
  head: 1n,
  cost: 8_000n
}
const earlier = TrackedTransaction.begin(7n, { ...bytes, fees: { maximum: 800n, priority: 80n } }, [], 0)

const headWith = (fees?: Fees) => ({
  head: { number: 9n, hash: "0x9", time: 1 },
  final: 1n,
  ...(fees && { fees })
})

const feesOf = (fees: Fees, most?: bigint) => Replacement.replacing(earlier, headWith(fees), most)?.fees

describe("the fees of a replacement", () => {
  it("are an eighth above the bytes before, rounded up, where the chain asks for less", () => {
    const ceiling = 10_000n
    assert.deepStrictEqual(feesOf({ maximum: 100n, priority: 1n, ceiling }), { maximum: 901n, priority: 91n, ceiling })
  })

  it("are the chain's where it asks for more, up to the ceiling", () => {
    const asked = { maximum: 2_000n, priority: 300n }
    assert.deepStrictEqual(feesOf({ ...asked, ceiling: 10_000n }), { ...asked, ceiling: 10_000n })
    assert.deepStrictEqual(feesOf({ ...asked, ceiling: 1_000n }), { maximum: 1_000n, priority: 300n, ceiling: 1_000n })
  })

  it("are never below the tip that they contain", () => {
    const fees = feesOf({ maximum: 900n, priority: 950n, ceiling: 1_000n })
    assert.deepStrictEqual(fees, { maximum: 950n, priority: 950n, ceiling: 1_000n })
  })

  it("are none where an eighth more is above the ceiling, or above what may be spent", () => {
    const asked = { maximum: 800n, priority: 80n }
    assert.isUndefined(feesOf({ ...asked, ceiling: 900n }))
    assert.deepStrictEqual(feesOf({ ...asked, ceiling: 901n })?.maximum, 901n)
    assert.isUndefined(feesOf({ ...asked, ceiling: 10_000n }, 9_000n))
    assert.deepStrictEqual(feesOf({ ...asked, ceiling: 10_000n }, 9_010n)?.maximum, 901n)
  })

  it("are absent on a chain without fees, and for bytes without fees", () => {
    assert.deepStrictEqual(Replacement.replacing(earlier, headWith(), 1n), headWith())
    const asked = headWith({ maximum: 1n, priority: 1n, ceiling: 2n })
    const free = TrackedTransaction.begin(7n, bytes, [], 0)
    assert.deepStrictEqual(Replacement.replacing(free, asked, undefined), asked)
  })

  it("grow from zero too, and are rounded up", () => {
    assert.strictEqual(Replacement.anEighthMore(0n), 1n)
    assert.strictEqual(Replacement.anEighthMore(7n), 8n)
    assert.strictEqual(Replacement.anEighthMore(8n), 10n)
  })
})
