import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"
import * as fc from "fast-check"

import * as GroupedCalls from "../../../src/facilitator/remote/GroupedCalls.ts"

type Answer = Result.Result<string, string>

/** Even numbers are answered, odd ones refused. */
const answerOf = (asked: number): Answer => (asked % 2 === 0 ? Result.succeed(`${asked}`) : Result.fail(`no ${asked}`))

interface Call {
  readonly asked: ReadonlyArray<number>
  readonly end: Deferred.Deferred<void, string>
}

/** Calls that end when the test says so. */
const make = (maximum = 3) => {
  const calls: Array<Call> = []
  const cutOff: Array<ReadonlyArray<number>> = []
  const made = (asked: ReadonlyArray<number>) =>
    Effect.suspend(() => {
      const end = Deferred.makeUnsafe<void, string>()
      calls.push({ asked, end })
      return Effect.onInterrupt(Deferred.await(end), () => Effect.sync(() => void cutOff.push(asked)))
    })
  const ask = GroupedCalls.make<number, string, string>({
    alone: (asked) =>
      Effect.andThen(
        made([asked]),
        Effect.suspend(() => Effect.fromResult(answerOf(asked)))
      ),
    together: (asked) => Effect.as(made(asked), asked.map(answerOf)),
    maximum
  })
  /** Asks, in a fiber of its own, and lets everything happen that can happen now. */
  const start = (asked: number) =>
    Effect.tap(Effect.forkChild(Effect.result(ask(asked)), { startImmediately: true }), Effect.yieldNow)
  const end = (index: number) =>
    Effect.andThen(Deferred.succeed(calls[index]?.end ?? Deferred.makeUnsafe<void, string>(), undefined), settle)
  return { ask, calls, cutOff, end, sent: () => calls.map(({ asked }) => asked), start }
}

const settle = Effect.repeat(Effect.yieldNow, { times: 20 })

describe("GroupedCalls", () => {
  it.effect("one that is alone goes at once, and those made meanwhile go together after it", () =>
    Effect.gen(function* () {
      const { end, sent, start } = make()
      const fibers = []
      for (const asked of [0, 1, 2, 3, 4, 5, 6]) fibers.push(yield* start(asked))
      assert.deepStrictEqual(sent(), [[0]])
      yield* end(0)
      assert.deepStrictEqual(sent(), [[0], [1, 2, 3]])
      yield* end(1)
      yield* end(2)
      assert.deepStrictEqual(sent(), [[0], [1, 2, 3], [4, 5, 6]])
      const answers = yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(answers, [0, 1, 2, 3, 4, 5, 6].map(answerOf))
      yield* start(7)
      assert.deepStrictEqual(sent().slice(3), [[7]])
    })
  )

  it.effect("a group of one goes as one that is alone", () =>
    Effect.gen(function* () {
      const { end, sent, start } = make()
      yield* start(0)
      const second = yield* start(1)
      yield* end(0)
      assert.deepStrictEqual(sent(), [[0], [1]])
      yield* end(1)
      assert.deepStrictEqual(yield* Fiber.join(second), Result.fail("no 1"))
    })
  )

  it.effect("a group that fails fails for each of its members, and the next goes all the same", () =>
    Effect.gen(function* () {
      const { calls, end, sent, start } = make()
      yield* start(0)
      const members = [yield* start(2), yield* start(4)]
      yield* end(0)
      const next = yield* start(6)
      yield* Deferred.fail(calls[1]?.end ?? Deferred.makeUnsafe<void, string>(), "no response")
      yield* settle
      for (const member of members) assert.deepStrictEqual(yield* Fiber.join(member), Result.fail("no response"))
      assert.deepStrictEqual(sent(), [[0], [2, 4], [6]])
      yield* end(2)
      assert.deepStrictEqual(yield* Fiber.join(next), Result.succeed("6"))
    })
  )

  it.effect("a caller that goes away leaves the others alone; a group without members is called off", () =>
    Effect.gen(function* () {
      const { cutOff, end, sent, start } = make()
      const first = yield* start(0)
      const waiting = yield* start(2)
      const members = [yield* start(4), yield* start(6)]
      yield* Fiber.interrupt(waiting)
      yield* Fiber.interrupt(first)
      yield* settle
      assert.deepStrictEqual(sent(), [[0], [4, 6]])
      const next = yield* start(8)
      for (const [index, member] of members.entries()) {
        assert.deepStrictEqual(cutOff, [[0]], `${index} were gone`)
        yield* Fiber.interrupt(member)
      }
      yield* settle
      assert.deepStrictEqual(cutOff, [[0], [4, 6]])
      assert.deepStrictEqual(sent(), [[0], [4, 6], [8]])
      yield* end(2)
      assert.deepStrictEqual(yield* Fiber.join(next), Result.succeed("8"))
    })
  )

  it.effect("a call that hangs keeps nobody waiting for longer than a second", () =>
    Effect.gen(function* () {
      const { end, sent, start } = make()
      yield* start(0)
      const second = yield* start(2)
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(sent(), [[0]])
      yield* TestClock.adjust("1 millis")
      yield* settle
      assert.deepStrictEqual(sent(), [[0], [2]])
      yield* end(1)
      assert.deepStrictEqual(yield* Fiber.join(second), Result.succeed("2"))
    })
  )

  it.effect("a caller whose group is under way when the second is over waits for its response", () =>
    Effect.gen(function* () {
      const { end, sent, start } = make()
      yield* start(0)
      const members = [yield* start(2), yield* start(4)]
      yield* end(0)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(sent(), [[0], [2, 4]])
      yield* end(1)
      assert.deepStrictEqual(yield* Effect.forEach(members, Fiber.join), [answerOf(2), answerOf(4)])
      assert.strictEqual(sent().length, 2)
    })
  )

  it("however calls are made and end, each gets its own response and is made once", async () => {
    const steps = fc.array(fc.boolean(), { maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 5 }), (isAsked, maximum) =>
        Effect.runPromise(
          Effect.gen(function* () {
            const { calls, end, sent, start } = make(maximum)
            const fibers: Array<Fiber.Fiber<Answer>> = []
            let ended = 0
            for (const asks of isAsked) {
              if (asks) fibers.push(yield* start(fibers.length))
              else if (ended < calls.length) yield* end(ended++)
            }
            while (ended < calls.length) yield* end(ended++)
            assert.deepStrictEqual(
              yield* Effect.forEach(fibers, Fiber.join),
              fibers.map((_, index) => answerOf(index))
            )
            assert.deepStrictEqual(sent().flat(), [...fibers.keys()])
            assert.isTrue(sent().every(({ length }) => length <= maximum))
          })
        )
      )
    )
  })
})
