import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import * as MemoryResponseStore from "../../../src/server/shop/MemoryResponseStore.ts"
import * as ResponseStoreLaws from "../../../src/testing/store/ResponseStoreLaws.ts"

describe("the laws of a store of kept responses, in memory", () => {
  for (const { effect, name } of ResponseStoreLaws.all) {
    it.effect(name, () => Effect.provide(effect, MemoryResponseStore.layer()))
  }

  it.effect("holds no more than its limit: the oldest texts leave first", () =>
    Effect.gen(function* () {
      const store = yield* MemoryResponseStore.make({ maximumCharacters: 30 })
      for (const name of ["a", "b", "c"]) yield* store.keep(name, "123456789", 60_000)
      assert.deepStrictEqual(yield* Effect.forEach(["a", "b", "c"], store.find), [
        "123456789",
        "123456789",
        "123456789"
      ])
      yield* store.keep("a", "renewed!!", 60_000)
      yield* store.keep("d", "123456789", 60_000)
      assert.deepStrictEqual(yield* Effect.forEach(["a", "b", "c", "d"], store.find), [
        "renewed!!",
        undefined,
        "123456789",
        "123456789"
      ])
      yield* store.keep("whole", "x".repeat(31), 60_000)
      assert.isUndefined(yield* store.find("whole"))
    })
  )

  it.effect("forgets texts whose time is over when others come", () =>
    Effect.gen(function* () {
      const store = yield* MemoryResponseStore.make({ maximumCharacters: 30 })
      yield* store.keep("short", "1", 1_000)
      yield* TestClock.adjust("1 second")
      assert.isUndefined(yield* store.find("short"))
      assert.strictEqual(yield* store.keepFirst("short", "2", 2_000), "2")
    })
  )

  it.effect("refuses options that it does not know", () =>
    Effect.gen(function* () {
      const mistake = yield* Effect.flip(MemoryResponseStore.make({ maximumCharacters: 0 }))
      assert.strictEqual(mistake._tag, "Misconfigured")
    })
  )
})
