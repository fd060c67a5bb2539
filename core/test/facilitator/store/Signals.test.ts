/** Hints between the parts of a process. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import * as Signals from "../../../src/facilitator/store/Signals.ts"

describe("signals", () => {
  it("reach the subscribers of their topic, and no others", () => {
    const signals = Signals.make()
    const heard: Array<string> = []
    const stop = signals.subscribe("a", () => heard.push("a"))
    signals.subscribe("a", () => heard.push("also a"))
    signals.subscribe("b", () => heard.push("b"))
    signals.notify("a")
    assert.deepStrictEqual(heard, ["a", "also a"])
    stop()
    stop()
    signals.notify("a")
    assert.deepStrictEqual(heard, ["a", "also a", "also a"])
    signals.notifyAll()
    assert.deepStrictEqual(heard.slice(3), ["also a", "b"])
    signals.notify("nobody's")
  })

  it("count each subscription of one function by itself", () => {
    const signals = Signals.make()
    let heard = 0
    const listener = () => void heard++
    const stop = signals.subscribe("a", listener)
    signals.subscribe("a", listener)
    stop()
    signals.notify("a")
    assert.strictEqual(heard, 1)
  })

  it.effect("that come before a listener waits are not lost, and many count once", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const signals = Signals.make()
        const { next } = yield* signals.listen("a")
        signals.notify("a")
        signals.notify("a")
        yield* next
        const waiting = yield* Effect.forkChild(next, { startImmediately: true })
        assert.isUndefined(waiting.pollUnsafe())
        signals.notify("a")
        yield* Fiber.join(waiting)
      })
    )
  )

  it.effect("are kept for the next look where a waiter gave up", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const signals = Signals.make()
        const { next } = yield* signals.listen("a")
        const waiting = yield* Effect.forkChild(next, { startImmediately: true })
        yield* Fiber.interrupt(waiting)
        signals.notify("a")
        yield* next
      })
    )
  )
})
