import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as LogFormat from "../../src/logs/LogFormat.ts"

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe("the lines of one turn of the event loop", () => {
  it.effect("leave in one write, in their order, and later lines in another", () =>
    Effect.promise(async () => {
      const writes: Array<string> = []
      const write = LogFormat.gathered((lines) => writes.push(lines))
      write("one\n")
      write("two\n")
      assert.deepStrictEqual(writes, [])
      await turn()
      assert.deepStrictEqual(writes, ["one\ntwo\n"])
      write("three\n")
      await turn()
      assert.deepStrictEqual(writes, ["one\ntwo\n", "three\n"])
    })
  )
})
