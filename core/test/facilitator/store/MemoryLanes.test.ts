import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as MemoryLanes from "../../../src/facilitator/store/MemoryLanes.ts"
import * as PaymentChange from "../../../src/facilitator/store/PaymentChange.ts"
import type { StoredPayment } from "../../../src/facilitator/store/PaymentStore.ts"
import * as PaymentStoreTrial from "../../../src/testing/store/PaymentStoreTrial.ts"

const lane = "ledger:test one"

/** Records that wait in the lane, in the order of their serials. */
const waiting = Effect.fnUntraced(function* (lanes: MemoryLanes.MemoryLanes, count: number) {
  const made = yield* Effect.forEach(Array.from({ length: count }), (_, place) =>
    Effect.map(PaymentStoreTrial.newPayment(), (payment) =>
      PaymentChange.created(payment, undefined, BigInt(place + 1), lane, 0)
    )
  )
  for (const one of made) assert.isTrue(lanes.follow(undefined, one))
  return made
})

const idsOf = (payments: ReadonlyArray<StoredPayment>) => payments.map(({ paymentId }) => paymentId)

const lease = (epoch: number) => ({ lane, epoch, isValid: () => true })

describe("the lanes of a memory store", () => {
  it.effect("name their waiting payments oldest first, also one that comes back", () =>
    Effect.gen(function* () {
      const lanes = MemoryLanes.make()
      const made = yield* waiting(lanes, 3)
      const [first] = made
      assert.isDefined(first)
      assert.deepStrictEqual(lanes.of(lane).waiting(2), idsOf(made.slice(0, 2)))
      const planned: StoredPayment = { ...first, status: "planned", laneNumber: 7n }
      assert.isFalse(lanes.follow(first, planned))
      assert.deepStrictEqual(lanes.of(lane).waiting(9), idsOf(made.slice(1)))
      assert.isTrue(lanes.follow(planned, first))
      assert.deepStrictEqual(lanes.of(lane).waiting(9), idsOf(made))
    })
  )

  it.effect("count those that wait and those that are pending, and not those that have ended or left", () =>
    Effect.gen(function* () {
      const lanes = MemoryLanes.make()
      const [first, second, third] = yield* waiting(lanes, 3)
      assert.isDefined(first)
      assert.isDefined(second)
      assert.isDefined(third)
      lanes.follow(first, { ...first, status: "sent", laneNumber: 7n })
      assert.strictEqual(lanes.of(lane).load(), 3)
      lanes.follow({ ...first, status: "sent", laneNumber: 7n }, { ...first, status: "included", laneNumber: 7n })
      lanes.follow(second, { ...second, lane: undefined })
      assert.strictEqual(lanes.of(lane).load(), 1)
      assert.deepStrictEqual(lanes.inUse(), [lane])
      lanes.follow(third, { ...third, status: "expired" })
      assert.deepStrictEqual(lanes.inUse(), [])
    })
  )

  it("are in use while a transaction is open, and belong to their network", () => {
    const lanes = MemoryLanes.make()
    const prepared = Effect.runSync(PaymentStoreTrial.signed(7n))
    lanes.of(lane).transactions.set(7n, MemoryLanes.begun({ number: 7n, prepared, paymentIds: ["pay_one"] }))
    lanes.of("ledger:other two")
    assert.deepStrictEqual(lanes.inUse(), [lane])
    assert.deepStrictEqual(lanes.on("ledger:test"), [lanes.of(lane)])
    assert.deepStrictEqual(lanes.on("ledger:third"), [])
  })

  it.effect("hold a payment in its open transaction until it gets another number", () =>
    Effect.gen(function* () {
      const lanes = MemoryLanes.make()
      const [first] = yield* waiting(lanes, 1)
      assert.isDefined(first)
      const plan = yield* PaymentStoreTrial.planOf(7n, [first.paymentId])
      lanes.of(lane).transactions.set(7n, MemoryLanes.begun(plan))
      const planned: StoredPayment = { ...first, status: "planned", laneNumber: 7n }
      lanes.follow(first, planned)
      assert.isTrue(lanes.isInOpenTransaction(planned))
      lanes.follow(planned, { ...planned, status: "accepted", laneNumber: undefined })
      assert.isFalse(lanes.isInOpenTransaction(planned))
    })
  )

  it("belong to the newest lease that was seen", () => {
    const lanes = MemoryLanes.make()
    assert.strictEqual(lanes.held(lease(3)), lanes.of(lane))
    assert.strictEqual(lanes.held(lease(2)), undefined)
    assert.strictEqual(lanes.held(lease(3)), lanes.of(lane))
    assert.strictEqual(lanes.held(lease(4)), lanes.of(lane))
    assert.strictEqual(lanes.held(lease(3)), undefined)
  })
})
