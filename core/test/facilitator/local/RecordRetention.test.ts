import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"

import type { PaymentRequest } from "../../../src/facilitator/Facilitator.ts"
import * as RecordRetention from "../../../src/facilitator/local/RecordRetention.ts"
import { PaymentStore } from "../../../src/facilitator/store/PaymentStore.ts"
import { FacilitatorUnavailable } from "../../../src/protocol/ProtocolError.ts"
import * as LedgerShop from "../LedgerShop.ts"
import { wordOf } from "../LedgerSteps.ts"

const { claim } = LedgerShop

const retaining = (age: string, store: PaymentStore["Service"]) =>
  Layer.build(Layer.provide(RecordRetention.layer({ age: age as "2 hours" }), Layer.succeed(PaymentStore, store)))

describe("retention", () => {
  it.effect("forgets a payment that was served, and whoever shows it again gets nothing and moves nothing", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, store } = yield* LedgerShop.open()
      yield* retaining("2 hours", store)
      const request: PaymentRequest = yield* LedgerShop.pay()
      const { paymentId } = yield* facilitator.settle(request, claim("a"))
      yield* facilitator.finish(paymentId, claim("a").id, "served")
      yield* TestClock.adjust("90 minutes")
      assert.isDefined(yield* store.find(paymentId))
      yield* facilitator.settle(yield* LedgerShop.pay(), claim("newest"))
      yield* TestClock.adjust("90 minutes")
      yield* TestClock.adjust("10 minutes")
      assert.isUndefined(yield* store.find(paymentId))
      const moved = ledger.transfers.length
      for (const attempt of [
        facilitator.settle(request, claim("a")),
        facilitator.settle(request, claim("b")),
        facilitator.settle(request, undefined),
        facilitator.claim(request, claim("c"))
      ]) {
        const fiber = yield* Effect.forkChild(Effect.flip(attempt))
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(wordOf(yield* Fiber.join(fiber)), "EXPIRED_PAYMENT")
      }
      assert.strictEqual(ledger.transfers.length, moved)
      assert.isUndefined(yield* store.find(paymentId))
    })
  )

  it.effect.each(["settle", "claim"] as const)(
    "opens nothing and moves nothing where a record goes between the look at it and the %s",
    (operation) =>
      Effect.gen(function* () {
        let goes = false
        const { facilitator, ledger, store } = yield* LedgerShop.open({
          store: (memory) => ({
            ...memory,
            claim: (...claimed) =>
              goes ? Effect.andThen(memory.forget(60_000, -1n, 9), memory.claim(...claimed)) : memory.claim(...claimed)
          })
        })
        const request: PaymentRequest = yield* LedgerShop.pay()
        const { paymentId } = yield* facilitator.settle(request, claim("a"))
        yield* facilitator.finish(paymentId, claim("a").id, "served")
        yield* TestClock.adjust("30 minutes")
        yield* facilitator.settle(yield* LedgerShop.pay(), claim("newest"))
        const moved = ledger.transfers.length
        goes = true
        const fiber = yield* Effect.forkChild(Effect.flip(facilitator[operation](request, claim("b"))))
        yield* TestClock.adjust("2 minutes")
        assert.strictEqual(wordOf(yield* Fiber.join(fiber)), "EXPIRED_PAYMENT")
        assert.strictEqual(ledger.transfers.length, moved)
        assert.strictEqual((yield* store.find(paymentId))?.status, "expired")
      })
  )

  it.effect("leaves most of the time to others, rests when all is done, and goes on after trouble", () =>
    Effect.gen(function* () {
      const asked: Array<bigint> = []
      let down = false
      const { store } = yield* LedgerShop.open({
        store: (memory) => ({
          ...memory,
          forget: (_age, after) =>
            Effect.suspend(() => {
              asked.push(after)
              if (down) return Effect.fail(new FacilitatorUnavailable({ message: "the store is closed" }))
              return Effect.succeed({ count: 1, next: after < 2n ? after + 1n : undefined })
            })
        })
      })
      const life = yield* Scope.make()
      yield* Scope.provide(retaining("2 hours", store), life)
      yield* TestClock.adjust("19 millis")
      assert.deepStrictEqual(asked, [-1n])
      yield* TestClock.adjust("60 millis")
      assert.deepStrictEqual(asked, [-1n, 0n, 1n, 2n])
      yield* TestClock.adjust("60001 millis")
      assert.deepStrictEqual(asked.slice(4), [-1n])
      down = true
      yield* TestClock.adjust("1 second")
      assert.lengthOf(asked, 6)
      down = false
      yield* TestClock.adjust("10 seconds")
      assert.isAbove(asked.length, 6)
      yield* Scope.close(life, Exit.void)
      const count = asked.length
      yield* TestClock.adjust("1 hour")
      assert.lengthOf(asked, count)
    })
  )

  it.effect("is refused where it would be shorter than a minute", () =>
    Effect.gen(function* () {
      const { store } = yield* LedgerShop.open()
      const { message } = yield* Effect.flip(retaining("59 seconds", store))
      assert.include(message, "age was expected to be at least 60 s, and is 59 s")
    })
  )
})
