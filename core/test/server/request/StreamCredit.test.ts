/** The looks at the channel of a metered response. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import type { ChannelCredits, Facilitator } from "../../../src/facilitator/Facilitator.ts"
import { FacilitatorUnavailable } from "../../../src/protocol/ProtocolError.ts"
import * as ExecutionLeases from "../../../src/server/request/ExecutionLeases.ts"
import * as StreamCredit from "../../../src/server/request/StreamCredit.ts"

const closedOf = (isClosed: ChannelCredits["isClosed"]) =>
  Effect.map(
    ExecutionLeases.make({ credits: { isClosed } } as unknown as Facilitator["Service"]),
    (executions) =>
      StreamCredit.make({
        executions,
        paymentId: "draw",
        terms: { unit: "token", tick: 1n, window: 10n },
        first: {}
      } as unknown as StreamCredit.MeteredDraw).closed
  )

it.effect("a stream learns of a withdrawal in a third of its least time, also after a failed look", () =>
  Effect.gen(function* () {
    const seen: Array<string> = []
    const looks = [
      Effect.succeed(false),
      Effect.fail(new FacilitatorUnavailable({ message: "the ledger is away" })),
      Effect.succeed(true)
    ]
    const closed = yield* closedOf((paymentId) =>
      Effect.suspend(() => {
        seen.push(paymentId)
        return looks[seen.length - 1] ?? Effect.die("it looks again")
      })
    )
    const watching = yield* Effect.forkChild(closed)
    yield* TestClock.adjust("10 minutes")
    assert.deepStrictEqual(seen, ["draw", "draw"])
    assert.isUndefined(watching.pollUnsafe())
    yield* TestClock.adjust("5 minutes")
    yield* Fiber.join(watching)
    assert.strictEqual(seen.length, 3)
  })
)

it.effect("a stream that has ended looks no more", () =>
  Effect.gen(function* () {
    let looks = 0
    const closed = yield* closedOf(() => Effect.sync(() => ++looks < 0))
    const watching = yield* Effect.forkChild(closed)
    yield* TestClock.adjust("5 minutes")
    yield* Fiber.interrupt(watching)
    yield* TestClock.adjust("1 hour")
    assert.strictEqual(looks, 1)
  })
)
