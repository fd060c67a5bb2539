import { assert, describe, it } from "@effect/vitest"
import { Checkpoint } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as Failpoint from "../../src/faults/Failpoint.ts"

const made = (text: string) => {
  const failpoint = Failpoint.fromText(text)
  const seen = { killed: 0, struck: 0 }
  assert.isDefined(failpoint)
  const strike = Failpoint.make([failpoint], {
    hangMillis: 30_000,
    kill: () => void seen.killed++,
    onStrike: () => void seen.struck++
  })
  return { seen, strike }
}

describe("failpoints", () => {
  it("are every checkpoint of the code with every action", () => {
    assert.strictEqual(Failpoint.everyFailpoint.length, Checkpoint.checkpoints.length * 3)
    assert.isAtLeast(Checkpoint.checkpoints.length, 12)
    for (const checkpoint of Checkpoint.checkpoints) {
      const actions = Failpoint.everyFailpoint.filter((one) => one.checkpoint === checkpoint)
      assert.sameMembers(
        actions.map(({ action }) => action),
        ["kill", "throw", "hang"]
      )
    }
  })

  it("have a text that says the same", () => {
    for (const failpoint of Failpoint.everyFailpoint) {
      assert.deepStrictEqual(Failpoint.fromText(Failpoint.toText(failpoint)), failpoint)
    }
    assert.deepStrictEqual(Failpoint.fromText("planned:kill"), { checkpoint: "planned", action: "kill", passing: 1 })
    const { everyFailpoint, seriesFromText, seriesToText } = Failpoint
    assert.deepStrictEqual(seriesFromText(seriesToText(everyFailpoint)), everyFailpoint)
    assert.isUndefined(seriesFromText("planned:kill,planed:kill"))
  })

  for (const text of ["", "planned", "planed:kill:1", "planned:burn:1", "planned:kill:0", "planned:kill:x"]) {
    it(`are none in "${text}"`, () => assert.isUndefined(Failpoint.fromText(text)))
  }

  it.effect("strike at their passing of their checkpoint, and at no other", () =>
    Effect.gen(function* () {
      const { seen, strike } = made("planned:kill:2")
      yield* strike("signed")
      yield* strike("planned")
      assert.deepStrictEqual(seen, { killed: 0, struck: 0 })
      yield* strike("planned")
      assert.deepStrictEqual(seen, { killed: 1, struck: 1 })
      yield* strike("planned")
      assert.deepStrictEqual(seen, { killed: 1, struck: 1 })
    })
  )

  it.effect("throw a defect", () =>
    Effect.gen(function* () {
      const { strike } = made("responded:throw:1")
      assert.isTrue(Exit.hasDies(yield* Effect.exit(strike("responded"))))
      yield* strike("responded")
    })
  )

  it.effect("hang for a while", () =>
    Effect.gen(function* () {
      const { strike } = made("responded:hang:1")
      const fiber = yield* Effect.forkChild(strike("responded"))
      yield* TestClock.adjust(29_999)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      yield* Fiber.join(fiber)
    })
  )

  it.effect("strike one after another, each at its passing since the end of the one before it", () =>
    Effect.gen(function* () {
      const struck: Array<string> = []
      let killed = 0
      const series = Failpoint.seriesFromText("queued:throw,queued:hang:2,queued:kill") ?? []
      const strike = Failpoint.make(series, {
        hangMillis: 30_000,
        kill: () => void killed++,
        onStrike: (one) => void struck.push(Failpoint.toText(one))
      })
      assert.isTrue(Exit.hasDies(yield* Effect.exit(strike("queued"))))
      yield* strike("queued")
      assert.deepStrictEqual(struck, ["queued:throw:1"])
      const hanging = yield* Effect.forkChild(strike("queued"))
      yield* TestClock.adjust(1)
      // The calls that pass meanwhile do so unharmed.
      yield* strike("queued")
      assert.deepStrictEqual(struck, ["queued:throw:1", "queued:hang:2"])
      assert.strictEqual(killed, 0)
      yield* TestClock.adjust(30_000)
      yield* Fiber.join(hanging)
      yield* strike("queued")
      yield* strike("queued")
      assert.deepStrictEqual(struck, ["queued:throw:1", "queued:hang:2", "queued:kill:1"])
      assert.strictEqual(killed, 1)
    })
  )
})
