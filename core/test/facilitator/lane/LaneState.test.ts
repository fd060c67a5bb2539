/** The order of a lane's slots: which transaction can be included next, and who is notified of its turn. */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as LaneState from "../../../src/facilitator/lane/LaneState.ts"
import * as TrackedTransaction from "../../../src/facilitator/lane/TrackedTransaction.ts"
import * as Signals from "../../../src/facilitator/store/Signals.ts"

const transactionOf = (number: bigint) =>
  TrackedTransaction.begin(
    number,
    { slot: { lane: "signer-1", number }, transaction: `tx-${number}`, bytes: "00", head: 1n, cost: 1n },
    [],
    0
  )

/** The parts of a lane's state that the order of its slots depends on. */
const laneOf = (...numbers: ReadonlyArray<bigint>) => {
  const transactions = new Map(numbers.map((number) => [number, transactionOf(number)]))
  const state = {
    transactions,
    turns: Signals.make(),
    backlog: { isFull: false, holdsBack: false, lookedAt: 0 }
  } as unknown as LaneState.LaneState
  const use = (number: bigint) => {
    const transaction = transactions.get(number)
    if (transaction !== undefined)
      transaction.inclusion = { transaction: `tx-${number}`, block: { number: 2n, hash: "0x2" }, cost: 1n }
  }
  return { state, transactions, use }
}

describe("the first transaction of a lane", () => {
  it("has the lowest open slot, in whatever order they came", () => {
    const { state, use } = laneOf(7n, 5n, 6n)
    assert.strictEqual(LaneState.firstIn(state)?.number, 5n)
    use(5n)
    assert.strictEqual(LaneState.firstIn(state)?.number, 6n)
    use(6n)
    use(7n)
    assert.isUndefined(LaneState.firstIn(state))
  })

  it("is one before which every slot is used", () => {
    const { state, transactions, use } = laneOf(7n, 5n, 6n)
    const isFirst = (number: bigint) => LaneState.isFirst(state, transactions.get(number) ?? transactionOf(number))
    assert.deepStrictEqual([5n, 6n, 7n].map(isFirst), [true, false, false])
    use(6n)
    assert.deepStrictEqual([5n, 6n, 7n].map(isFirst), [true, false, false])
    use(5n)
    assert.isTrue(isFirst(7n))
  })
})

describe("a transaction that waits for its turn", () => {
  it.effect("goes on when every earlier slot is used", () =>
    Effect.gen(function* () {
      const { state, transactions, use } = laneOf(5n, 6n)
      const waiting = yield* Effect.forkChild(
        LaneState.turnOf(state, transactions.get(6n) ?? transactionOf(6n), Duration.hours(1)),
        { startImmediately: true }
      )
      LaneState.notifyOfSlot(state)
      yield* TestClock.adjust("1 minute")
      assert.isUndefined(waiting.pollUnsafe())
      use(5n)
      LaneState.notifyOfSlot(state)
      yield* Fiber.join(waiting)
    })
  )

  it.effect("goes on after its timeout", () =>
    Effect.gen(function* () {
      const { state, transactions } = laneOf(5n, 6n)
      const waiting = yield* Effect.forkChild(
        LaneState.turnOf(state, transactions.get(6n) ?? transactionOf(6n), Duration.hours(1)),
        { startImmediately: true }
      )
      yield* TestClock.adjust("59 minutes")
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(waiting)
    })
  )
})
