import { assert, describe, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as AnvilHeartbeat from "../../src/testing/AnvilHeartbeat.ts"

/** A node that answers what it is told to, and how many blocks it was asked for after so many beats. */
const blocksAfter = (beats: number, node: { readonly automine: boolean; readonly pending: string }) =>
  Effect.scoped(
    Effect.gen(function* () {
      vi.useFakeTimers()
      yield* Effect.addFinalizer(() => Effect.sync(() => vi.useRealTimers()))
      let blocks = 0
      yield* AnvilHeartbeat.start({
        mine: () => Effect.sync(() => void blocks++),
        request: (method) => Effect.succeed(method === "txpool_status" ? { pending: node.pending } : node.automine)
      })
      for (let beat = 0; beat < beats; beat++) yield* Effect.promise(() => vi.advanceTimersByTimeAsync(500))
      return blocks
    })
  )

describe("AnvilHeartbeat", () => {
  it.effect("mines what a node that should mine at once has left waiting for two beats", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* blocksAfter(1, { automine: true, pending: "0x1" }), 0)
      assert.strictEqual(yield* blocksAfter(2, { automine: true, pending: "0x1" }), 1)
      assert.strictEqual(yield* blocksAfter(4, { automine: true, pending: "0x2" }), 2)
    })
  )

  it.effect("leaves a node alone that mines by hand, and one whose pool is empty", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* blocksAfter(4, { automine: false, pending: "0x1" }), 0)
      assert.strictEqual(yield* blocksAfter(4, { automine: true, pending: "0x0" }), 0)
    })
  )
})
