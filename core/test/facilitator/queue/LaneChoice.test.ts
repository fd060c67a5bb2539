/** The choice of a lane, on a store that counts its questions. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import * as LaneChoice from "../../../src/facilitator/queue/LaneChoice.ts"
import * as MemoryPaymentStore from "../../../src/facilitator/store/MemoryPaymentStore.ts"
import { LaneName } from "../../../src/facilitator/store/PaymentStore.ts"
import * as TestLedger from "../../../src/testing/ledger/TestLedger.ts"
import * as TestScheme from "../../../src/testing/ledger/TestScheme.ts"

const nameOf = (lane: string) => LaneName(TestScheme.network, lane)

/** A choice among these lanes; the counts that the store has of them may change. */
const open = Effect.fnUntraced(function* (lanes: ReadonlyArray<string>, loads: Readonly<Record<string, number>> = {}) {
  const counts = new Map(Object.entries(loads).map(([lane, load]) => [nameOf(lane), load]))
  const asked: Array<ReadonlyArray<string>> = []
  const memory = yield* MemoryPaymentStore.make
  const store = {
    ...memory,
    loads: (names: ReadonlyArray<string>) =>
      Effect.sync(() => {
        asked.push(names)
        return counts
      })
  }
  const scheme = TestScheme.facilitator(TestLedger.make(), { lanes })
  const choice = LaneChoice.make(store)
  const chosen = (count: number) => Effect.forEach(Array.from({ length: count }), () => choice.laneFor(scheme))
  return { asked, choice, chosen, counts, scheme }
})

describe("the lane of a payment", () => {
  it.effect("is the one with the fewest payments, the first among equals", () =>
    Effect.gen(function* () {
      const { chosen } = yield* open(["a", "b", "c"], { a: 2, b: 1, c: 1 })
      assert.deepStrictEqual(yield* chosen(5), ["b", "c", "a", "b", "c"].map(nameOf))
    })
  )

  it.effect("is chosen by counts that are at most a quarter of a second old", () =>
    Effect.gen(function* () {
      const { asked, chosen, counts } = yield* open(["a", "b"])
      assert.deepStrictEqual(yield* chosen(2), ["a", "b"].map(nameOf))
      counts.set(nameOf("a"), 9)
      yield* TestClock.adjust("249 millis")
      assert.deepStrictEqual(yield* chosen(1), [nameOf("a")])
      assert.lengthOf(asked, 1)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* chosen(1), [nameOf("b")])
      assert.deepStrictEqual(asked[1], ["a", "b"].map(nameOf))
    })
  )

  it.effect("needs no counts where there is one lane, or none", () =>
    Effect.gen(function* () {
      const one = yield* open(["a"])
      assert.deepStrictEqual(yield* one.chosen(2), [nameOf("a"), nameOf("a")])
      const none = yield* open([])
      assert.deepStrictEqual(yield* none.chosen(1), [nameOf("")])
      assert.lengthOf([...one.asked, ...none.asked], 0)
    })
  )
})

describe("a lane whose signer is refused", () => {
  it.effect("is avoided for five seconds, by the payment that left it and by all others", () =>
    Effect.gen(function* () {
      const { choice, chosen, scheme } = yield* open(["a", "b"], { b: 50 })
      assert.strictEqual(yield* choice.instead(scheme, nameOf("a")), nameOf("b"))
      yield* TestClock.adjust(4_999)
      assert.deepStrictEqual(yield* chosen(1), [nameOf("b")])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* chosen(1), [nameOf("a")])
    })
  )

  it.effect("has no successor where every lane was refused a moment ago, and new payments still find a lane", () =>
    Effect.gen(function* () {
      const { choice, chosen, scheme } = yield* open(["a", "b"])
      yield* choice.instead(scheme, nameOf("a"))
      assert.isUndefined(yield* choice.instead(scheme, nameOf("b")))
      assert.deepStrictEqual(yield* chosen(1), [nameOf("a")])
    })
  )
})
