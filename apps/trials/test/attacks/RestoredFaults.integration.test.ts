import { assert, describe, it } from "@effect/vitest"

import { battery } from "../../src/attacks/Battery.ts"
import { processOptions } from "../../src/attacks/SourceMutation.ts"
import { getsThrough } from "./AttackCase.ts"

describe("the battery of attacks", () => {
  // Few, because each starts programs of its own.
  getsThrough("prepared-record", "dearer-body", "backends-apart", "jumping-clock")

  it("knows each fault that it restores by a piece of today's sources", () => {
    for (const { mutation } of battery) assert.doesNotThrow(() => processOptions(mutation, false))
  })

  it("has a name of its own for each attack", () => {
    assert.strictEqual(new Set(battery.map(({ name }) => name)).size, battery.length)
  })
})
