import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as IntakeGate from "../../../src/facilitator/local/IntakeGate.ts"
import * as TestScheme from "../../../src/testing/ledger/TestScheme.ts"
import * as LedgerShop from "../LedgerShop.ts"

const { claim, pay } = LedgerShop

/** A shop whose gate the test closes. */
const open = Effect.fnUntraced(function* () {
  const intake = IntakeGate.make()
  let questions = 0
  const shop = yield* LedgerShop.open({
    intake,
    scheme: (scheme) => ({
      ...scheme,
      verify: (payment) => Effect.suspend(() => (questions++, scheme.verify(payment)))
    })
  })
  return { ...shop, intake, questions: () => questions }
})

/** The responses of a facilitator behind a closed gate. */
const turnedAway = Effect.fnUntraced(function* (effect: Effect.Effect<unknown, unknown>) {
  const error = yield* Effect.flip(effect)
  assert.deepInclude(error, { _tag: "FacilitatorUnavailable", retryAfter: 10 })
})

describe("a gate that is closed for a network", () => {
  it.effect("turns new payments there away before anything is asked or written, and answers known ones", () =>
    Effect.gen(function* () {
      const { facilitator, intake, questions, store } = yield* open()
      const known = yield* pay()
      const settling = yield* Effect.forkDetach(facilitator.settle(known, claim("known")))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(settling)).status, "included")
      const asked = questions()
      intake.close("fork", [{ network: TestScheme.network, reason: "the node follows another chain" }])
      const fresh = yield* pay()
      yield* turnedAway(facilitator.verify(fresh))
      yield* turnedAway(facilitator.settle(fresh, claim("fresh")))
      yield* turnedAway(facilitator.claim(fresh, claim("fresh")))
      assert.strictEqual(questions(), asked)
      assert.lengthOf(yield* store.page(0n, 10), 1)
      assert.strictEqual((yield* facilitator.settle(known, claim("known"))).execution, "granted")
      intake.close("fork", [])
      assert.strictEqual((yield* facilitator.verify(fresh)).payer, LedgerShop.payer)
    })
  )

  it.effect("says nothing of other networks", () =>
    Effect.gen(function* () {
      const { facilitator, intake } = yield* open()
      intake.close("fork", [{ network: "ledger:other", reason: "the node follows another chain" }])
      assert.strictEqual((yield* facilitator.verify(yield* pay())).payer, LedgerShop.payer)
    })
  )
})

describe("a gate that is closed because the records are in doubt", () => {
  it.effect("turns known payments away too, and lets what is under way end", () =>
    Effect.gen(function* () {
      const { facilitator, intake, ledger, store } = yield* open()
      ledger.faults.holdBlocks = true
      const request = yield* pay()
      const settling = yield* Effect.forkDetach(facilitator.settle(request, claim("a")))
      yield* TestClock.adjust("1 second")
      intake.close("records", [{ reason: "the file was deleted" }])
      yield* turnedAway(facilitator.settle(request, claim("a")))
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("5 seconds")
      const settled = yield* Fiber.join(settling)
      assert.strictEqual(settled.status, "included")
      assert.strictEqual(
        (yield* facilitator.finish(settled.paymentId, claim("a").id, "served")).status,
        (yield* store.find(settled.paymentId))?.status
      )
    })
  )
})
