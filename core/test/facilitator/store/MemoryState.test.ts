import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import * as MemoryState from "../../../src/facilitator/store/MemoryState.ts"
import * as PaymentChange from "../../../src/facilitator/store/PaymentChange.ts"
import { noticesTopic } from "../../../src/facilitator/store/PaymentStore.ts"
import * as Signals from "../../../src/facilitator/store/Signals.ts"
import * as PaymentStoreTrial from "../../../src/testing/store/PaymentStoreTrial.ts"

const lane = "ledger:test one"

describe("a step of a memory store", () => {
  it.effect("tells who listens after it, once, of the payment, its lane and its notice", () =>
    Effect.gen(function* () {
      const signals = Signals.make()
      const state = MemoryState.make(signals)
      const payment = yield* PaymentStoreTrial.newPayment({ caller: "ann", notify: true })
      const heard: Array<string> = []
      for (const topic of [payment.paymentId, lane, noticesTopic, "pay_other"]) {
        signals.subscribe(topic, () => heard.push(topic))
      }
      const created = PaymentChange.created(payment, undefined, state.records.nextSerial(), lane, 0)
      yield* state.step((now) => {
        state.put(created, now)
        assert.deepStrictEqual(heard, [])
      })
      assert.deepStrictEqual(heard.splice(0), [lane])
      const failed = {
        ...created,
        status: "failed" as const,
        history: [...created.history, { status: "failed" as const, at: 1 }]
      }
      yield* state.step((now) => {
        state.put({ ...created, status: "sent", laneNumber: 7n }, now)
        state.put({ ...failed, laneNumber: 7n }, now)
      })
      assert.deepStrictEqual(heard.toSorted(), [noticesTopic, payment.paymentId].toSorted())
      assert.strictEqual(state.records.find(payment.paymentId)?.status, "failed")
      assert.strictEqual(state.lanes.of(lane).load(), 0)
    })
  )

  it.effect("has the store's time and returns what it made", () =>
    Effect.gen(function* () {
      const state = MemoryState.make(Signals.make())
      yield* TestClock.setTime(1_234)
      assert.strictEqual(yield* state.step((now) => now), 1_234)
    })
  )
})
