import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import * as Lane from "../../src/facilitator/Lane.ts"

const start = Effect.succeed(7n)
const takeNumber = (lane: Lane.Lane) => lane.take(start, ({ number }) => Effect.succeed(number))
const slot = (number: bigint) => ({ lane: "signer", number })

describe("take", () => {
  it.effect("hands out the chain's next slot and then each one after it", () =>
    Effect.gen(function* () {
      const lane = yield* Lane.make("signer")
      assert.deepStrictEqual(yield* Effect.all([takeNumber(lane), takeNumber(lane), takeNumber(lane)]), [7n, 8n, 9n])
    })
  )

  it.effect("asks the chain once", () =>
    Effect.gen(function* () {
      const lane = yield* Lane.make("signer")
      let questions = 0
      const counted = Effect.sync(() => BigInt(++questions))
      yield* Effect.forEach([1, 2, 3], () => lane.take(counted, Effect.succeed), { concurrency: "unbounded" })
      assert.strictEqual(questions, 1)
    })
  )

  it.effect("asks again when the chain could not be asked, and loses no slot by it", () =>
    Effect.gen(function* () {
      const lane = yield* Lane.make("signer")
      assert.strictEqual(yield* Effect.flip(lane.take(Effect.fail("down"), Effect.succeed)), "down")
      assert.strictEqual(yield* takeNumber(lane), 7n)
    })
  )

  it.effect("gives each slot to one at a time: 100 at once get 100 different ones, in order", () =>
    Effect.gen(function* () {
      const lane = yield* Lane.make("signer")
      let inside = 0
      const numbers = yield* Effect.forEach(
        Array.from({ length: 100 }),
        () =>
          lane.take(start, ({ number }) =>
            Effect.gen(function* () {
              assert.strictEqual(++inside, 1)
              yield* Effect.yieldNow
              inside--
              return number
            })
          ),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        numbers,
        Array.from({ length: 100 }, (_, index) => 7n + BigInt(index))
      )
    })
  )

  it.effect("takes the slot back when its user fails", () =>
    Effect.gen(function* () {
      const lane = yield* Lane.make("signer")
      assert.strictEqual(yield* Effect.flip(lane.take(start, () => Effect.fail("no key"))), "no key")
      assert.strictEqual(lane.hasHole(), false)
      assert.strictEqual(yield* takeNumber(lane), 7n)
    })
  )

  it.effect("takes the slot back when its user is interrupted", () =>
    Effect.gen(function* () {
      const lane = yield* Lane.make("signer")
      const entered = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(
        lane.take(start, () => Effect.andThen(Deferred.succeed(entered, undefined), Effect.never))
      )
      yield* Deferred.await(entered)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* takeNumber(lane), 7n)
    })
  )
})

describe("giveBack", () => {
  it.effect("the last slot leaves no hole and is the next one again", () =>
    Effect.gen(function* () {
      const lane = yield* Lane.make("signer")
      yield* Effect.all([takeNumber(lane), takeNumber(lane)])
      assert.strictEqual(lane.giveBack(slot(8n)), false)
      assert.strictEqual(lane.hasHole(), false)
      assert.strictEqual(yield* takeNumber(lane), 8n)
    })
  )

  it.effect("a slot below others is a hole, and the lowest hole goes first", () =>
    Effect.gen(function* () {
      const lane = yield* Lane.make("signer")
      yield* Effect.all([1, 2, 3, 4].map(() => takeNumber(lane)))
      assert.strictEqual(lane.giveBack(slot(9n)), true)
      assert.strictEqual(lane.giveBack(slot(8n)), true)
      assert.deepStrictEqual(yield* Effect.all([1, 2, 3].map(() => takeNumber(lane))), [8n, 9n, 11n])
    })
  )

  it.effect("holes at the end of the line vanish with it", () =>
    Effect.gen(function* () {
      const lane = yield* Lane.make("signer")
      yield* Effect.all([1, 2, 3].map(() => takeNumber(lane)))
      assert.strictEqual(lane.giveBack(slot(8n)), true)
      assert.strictEqual(lane.giveBack(slot(9n)), false)
      assert.strictEqual(lane.hasHole(), false)
      assert.strictEqual(yield* takeNumber(lane), 8n)
    })
  )
})

describe("takeHole", () => {
  it.effect("takes a hole and never a fresh slot", () =>
    Effect.gen(function* () {
      const lane = yield* Lane.make("signer")
      const takeHole = lane.takeHole(({ number }) => Effect.succeed(number))
      assert.strictEqual(yield* takeHole, undefined)
      yield* Effect.all([takeNumber(lane), takeNumber(lane)])
      lane.giveBack(slot(7n))
      assert.strictEqual(yield* takeHole, 7n)
      assert.strictEqual(yield* takeHole, undefined)
      assert.strictEqual(yield* takeNumber(lane), 9n)
    })
  )

  it.effect("leaves the hole when its user fails", () =>
    Effect.gen(function* () {
      const lane = yield* Lane.make("signer")
      yield* Effect.all([takeNumber(lane), takeNumber(lane)])
      lane.giveBack(slot(7n))
      yield* Effect.flip(lane.takeHole(() => Effect.fail("no")))
      assert.strictEqual(lane.hasHole(), true)
    })
  )
})

describe("catchUp", () => {
  it.effect("skips slots that somebody else has used, and forgets holes among them", () =>
    Effect.gen(function* () {
      const lane = yield* Lane.make("signer")
      yield* Effect.all([takeNumber(lane), takeNumber(lane)])
      lane.giveBack(slot(7n))
      lane.catchUp(20n)
      assert.strictEqual(lane.hasHole(), false)
      assert.strictEqual(yield* takeNumber(lane), 20n)
    })
  )

  it.effect("never goes back, however far behind the chain's count is", () =>
    Effect.gen(function* () {
      const lane = yield* Lane.make("signer")
      yield* Effect.all([takeNumber(lane), takeNumber(lane)])
      lane.catchUp(0n)
      assert.strictEqual(yield* takeNumber(lane), 9n)
    })
  )
})

describe("withPlace and load", () => {
  it.effect("lets so many in as the lane has places; the load counts those who wait too", () =>
    Effect.gen(function* () {
      const lane = yield* Lane.make("signer")
      const gate = yield* Deferred.make<void>()
      let inside = 0
      const one = lane.withPlace(
        Effect.andThen(
          Effect.sync(() => void inside++),
          Deferred.await(gate)
        )
      )
      const all = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 20 }, () => one),
          { concurrency: "unbounded" }
        )
      )
      yield* Effect.yieldNow
      assert.strictEqual(inside, Lane.capacity)
      assert.strictEqual(lane.load(), 20)
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(all)
      assert.strictEqual(inside, 20)
      assert.strictEqual(lane.load(), 0)
    })
  )

  it.effect("frees the place of one who fails or is interrupted", () =>
    Effect.gen(function* () {
      const lane = yield* Lane.make("signer")
      yield* Effect.flip(lane.withPlace(Effect.fail("no")))
      const fiber = yield* Effect.forkChild(lane.withPlace(Effect.never))
      yield* Effect.yieldNow
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(lane.load(), 0)
    })
  )

  it.effect("a lane whose node refuses counts as full until a transaction is taken", () =>
    Effect.gen(function* () {
      const lane = yield* Lane.make("signer")
      lane.heard(false)
      assert.strictEqual(lane.load(), Lane.capacity)
      lane.heard(true)
      assert.strictEqual(lane.load(), 0)
    })
  )
})
