/** The looks at the channel of a metered response. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import type { ChannelCredits, Facilitator } from "../../../src/facilitator/Facilitator.ts"
import { FacilitatorUnavailable } from "../../../src/protocol/ProtocolError.ts"
import * as ExecutionLeases from "../../../src/server/request/ExecutionLeases.ts"
import * as StreamCredit from "../../../src/server/request/StreamCredit.ts"

const windowOf = (finish: StreamCredit.MeteredDraw["first"]["finish"]) =>
  Effect.map(
    ExecutionLeases.make({} as unknown as Facilitator["Service"]),
    (executions) =>
      StreamCredit.make({
        executions,
        paymentId: "draw",
        terms: { unit: "token", tick: 1n, window: 10n },
        amount: 10n,
        first: { finish }
      } as unknown as StreamCredit.MeteredDraw).first
  )

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

it.effect("a charge whose report has no end after ten seconds may be recorded later, and a refused one is not", () =>
  Effect.gen(function* () {
    const silent = yield* windowOf(() => Effect.never)
    const charging = yield* Effect.forkChild(silent.charge(10n))
    yield* TestClock.adjust("9 seconds")
    assert.isUndefined(charging.pollUnsafe())
    yield* TestClock.adjust("1 second")
    assert.strictEqual(yield* Fiber.join(charging), "unknown")
    for (const [isRecorded, end] of [
      [true, "charged"],
      [false, "refused"]
    ] as const)
      assert.strictEqual(
        yield* Effect.flatMap(
          windowOf(() => Effect.succeed(isRecorded)),
          ({ charge }) => charge(10n)
        ),
        end
      )
  })
)
