/** The streams that their buyer ends. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import * as StreamEnds from "../../../src/server/request/StreamEnds.ts"

const isOver = Effect.fnUntraced(function* (ended: Effect.Effect<void>) {
  const waiting = yield* Effect.forkChild(ended, { startImmediately: true })
  const isDone = waiting.pollUnsafe() !== undefined
  yield* Fiber.interrupt(waiting)
  return isDone
})

it.effect("streams end that wait, or come to wait, at the voucher of the word, and no other ones", () =>
  Effect.gen(function* () {
    const facilitator = {}
    const ends = StreamEnds.of(facilitator)
    assert.strictEqual(StreamEnds.of(facilitator), ends)
    const [one, other] = [ends.begin(), ends.begin()]
    const waiting = yield* Effect.forkChild(ends.ended("a", one, 10n), { startImmediately: true })
    const foreign = yield* Effect.forkChild(ends.ended("b", one, 10n), { startImmediately: true })
    ends.end("a", 10n)
    yield* Fiber.join(waiting)
    assert.isUndefined(foreign.pollUnsafe(), "the stream of another channel waits on")
    assert.isTrue(yield* isOver(ends.ended("a", other, 10n)), "a stream that comes to wait")
    assert.isFalse(yield* isOver(ends.ended("a", other, 11n)), "a higher voucher has come")
    assert.isFalse(yield* isOver(ends.ended("a", ends.begin(), 10n)), "a stream that has begun afterwards")
    yield* Fiber.interrupt(foreign)
  })
)
