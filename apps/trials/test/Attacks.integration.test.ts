import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as AttackTable from "../src/attacks/AttackTable.ts"
import * as AttackTrial from "../src/attacks/AttackTrial.ts"
import { battery } from "../src/attacks/Battery.ts"
import { processOptions } from "../src/attacks/SourceMutation.ts"

const failures = (rows: ReadonlyArray<AttackTrial.Row>) =>
  rows.filter((row) => !AttackTrial.isAsItShould(row)).map(AttackTable.lineOf)

/** Few, because each starts programs of its own. */
const broughtBack = ["prepared-record", "dearer-body", "backends-apart", "jumping-clock"]

describe("the battery of attacks", () => {
  it.live(
    "gets nothing out of the programs as they are shipped",
    () =>
      Effect.gen(function* () {
        const rows = yield* AttackTrial.run({ targets: ["pontage"], mutations: false })
        assert.deepStrictEqual(failures(rows), [])
        assert.lengthOf(rows, battery.length)
      }),
    600_000
  )

  it.live(
    "gets through where its fault is brought back",
    () =>
      Effect.gen(function* () {
        const rows = yield* AttackTrial.run({ only: [...broughtBack], targets: [], mutations: true })
        assert.deepStrictEqual(failures(rows), [])
        assert.lengthOf(rows, broughtBack.length)
      }),
    600_000
  )

  it("knows each fault that it restores by a piece of today's sources", () => {
    for (const { mutation } of battery) assert.doesNotThrow(() => processOptions(mutation, false))
  })

  it("has a name of its own for each attack", () => {
    assert.strictEqual(new Set(battery.map(({ name }) => name)).size, battery.length)
  })
})
