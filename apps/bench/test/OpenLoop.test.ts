import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as OpenLoop from "../src/OpenLoop.ts"

describe("atRate", () => {
  it.live("begins each item although none before it has ended, and plans a fixed distance between them", () =>
    Effect.gen(function* () {
      let begun = 0
      const { promise: all, resolve: open } = Promise.withResolvers<void>()
      const items = ["a", "b", "c", "d"]
      const seen = yield* OpenLoop.atRate(items, 500, (item, index, planned) =>
        Effect.promise(async () => {
          const began = performance.now()
          if (++begun === items.length) open()
          await all
          return { item, index, planned, early: planned - began }
        })
      )
      assert.deepStrictEqual(
        seen.map(({ index, item }) => [item, index]),
        items.map((item, index) => [item, index])
      )
      const [first] = seen
      for (const { early, index, planned } of seen) {
        assert.approximately(planned - (first?.planned ?? 0), index * 2, 0.001)
        // Node's timers end up to a millisecond before their time.
        assert.isBelow(early, 2)
      }
    })
  )
})
