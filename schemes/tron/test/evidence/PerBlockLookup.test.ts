import { assert, describe, it } from "@effect/vitest"
import { ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import * as PerBlockLookup from "../../src/evidence/PerBlockLookup.ts"

const makeChain = () => {
  const chain = { head: 1n, heads: 0, looks: 0, found: false, isDown: false }
  const down = new ChainUnavailable({ network: "tron:local", message: "down" })
  const ask = <A>(answer: () => A) => Effect.suspend(() => (chain.isDown ? Effect.fail(down) : Effect.sync(answer)))
  const look = PerBlockLookup.make(
    ask(() => {
      chain.heads++
      return { number: chain.head, id: `block ${chain.head}`, time: 0n }
    })
  )
  const looking = (id = "a") =>
    look(
      id,
      ask(() => {
        chain.looks++
        return chain.found ? "there" : undefined
      })
    )
  return { chain, looking }
}

const nextHead = TestClock.adjust("300 millis")

describe("PerBlockLookup", () => {
  it.effect("requests a missing transaction again only after a new block", () =>
    Effect.gen(function* () {
      const { chain, looking } = makeChain()
      for (let round = 0; round < 5; round++) {
        assert.isUndefined(yield* looking())
        yield* nextHead
      }
      assert.deepStrictEqual([chain.looks, chain.heads], [1, 5])
      chain.head = 2n
      chain.found = true
      assert.strictEqual(yield* looking(), "there")
      assert.strictEqual(yield* looking(), "there")
      assert.strictEqual(chain.looks, 3)
    })
  )

  it.effect("requests the head once for many lookups, and each transaction once", () =>
    Effect.gen(function* () {
      const { chain, looking } = makeChain()
      const ids = Array.from({ length: 50 }, (_, index) => `${index}`)
      yield* Effect.forEach(ids, (id) => looking(id), { concurrency: "unbounded" })
      assert.deepStrictEqual([chain.looks, chain.heads], [50, 1])
    })
  )

  it.effect("notices that a transaction is gone", () =>
    Effect.gen(function* () {
      const { chain, looking } = makeChain()
      chain.found = true
      assert.strictEqual(yield* looking(), "there")
      chain.found = false
      assert.isUndefined(yield* looking())
      chain.found = true
      yield* nextHead
      assert.isUndefined(yield* looking())
      chain.head = 2n
      yield* nextHead
      assert.strictEqual(yield* looking(), "there")
    })
  )

  it.effect("remembers no failed request, and forgets the oldest of too many", () =>
    Effect.gen(function* () {
      const { chain, looking } = makeChain()
      chain.isDown = true
      assert.strictEqual((yield* Effect.flip(looking()))._tag, "ChainUnavailable")
      chain.isDown = false
      assert.isUndefined(yield* looking())
      assert.strictEqual(chain.looks, 1)
      yield* Effect.forEach(Array.from({ length: 4_096 }), (_, index) => looking(`${index}`))
      yield* looking()
      assert.strictEqual(chain.looks, 4_098)
    })
  )
})
