import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as MemoryLaneWork from "../../../src/facilitator/store/MemoryLaneWork.ts"
import * as MemoryState from "../../../src/facilitator/store/MemoryState.ts"
import * as PaymentChange from "../../../src/facilitator/store/PaymentChange.ts"
import * as Signals from "../../../src/facilitator/store/Signals.ts"
import * as Trial from "../../../src/testing/store/PaymentStoreTrial.ts"

const network = "ledger:test"
const lane = `${network} one`
const lease = { lane, epoch: 1, isValid: () => true }

const numberOf = (index: number) => Trial.firstNumber + BigInt(index)

/** A lane that was opened, with the payments of these callers and payers, `caller/payer`, in this order. */
const worked = Effect.fnUntraced(function* (...whose: ReadonlyArray<string>) {
  const state = MemoryState.make(Signals.make())
  const work = MemoryLaneWork.make(state)
  yield* work.openLane(lease, Trial.firstNumber)
  const ids: Array<string> = []
  for (const one of whose) {
    const [caller = "", payer = ""] = one.split("/")
    const payment = yield* Trial.newPayment({ caller, payer })
    state.put(PaymentChange.created(payment, undefined, state.records.nextSerial(), lane, 0), 0)
    ids.push(payment.paymentId)
  }
  const statuses = () => ids.map((id) => state.records.find(id)?.status)
  return { state, work, ids, statuses }
})

describe("the queue of a lane in memory", () => {
  it.effect("gives each caller its turn, and each payer no more than its share", () =>
    Effect.gen(function* () {
      const { ids, work } = yield* worked("ann/p", "ann/p", "ann/p", "ann/q", "bob/p", "carl/r")
      const places = (found: ReadonlyArray<{ readonly paymentId: string }>) =>
        found.map(({ paymentId }) => ids.indexOf(paymentId))
      assert.deepStrictEqual(places(yield* work.queued(lane, 2)), [0, 1])
      assert.deepStrictEqual(places(yield* work.queuedInTurn(lane, 3, 9)), [0, 4, 5])
      assert.deepStrictEqual(places(yield* work.queuedInTurn(lane, 9, 1)), [0, 3, 4, 5])
      assert.deepStrictEqual(places(yield* work.queuedInTurn(lane, 9, 2)), [0, 1, 3, 4, 5])
      assert.deepStrictEqual(yield* work.waitingBy(lane), [
        { caller: "ann", payer: "p", waiting: 3 },
        { caller: "ann", payer: "q", waiting: 1 },
        { caller: "bob", payer: "p", waiting: 1 },
        { caller: "carl", payer: "r", waiting: 1 }
      ])
    })
  )
})

describe("a plan in memory", () => {
  it.effect("is written whole or not at all", () =>
    Effect.gen(function* () {
      const { ids, statuses, work } = yield* worked("ann/p", "ann/q")
      const [first = "", second = ""] = ids
      const good = yield* Trial.planOf(Trial.firstNumber, [first])
      const wrong = [
        [good, yield* Trial.planOf(Trial.firstNumber + 2n, [second])],
        [good, yield* Trial.planOf(Trial.firstNumber + 1n, [first])],
        [good, yield* Trial.planOf(Trial.firstNumber + 1n, ["pay_unknown"])]
      ]
      for (const plans of wrong) {
        assert.strictEqual((yield* Effect.flip(work.plan(lease, plans)))._tag, "LeaseLost")
        assert.deepStrictEqual(statuses(), ["accepted", "accepted"])
        assert.deepStrictEqual(yield* work.openTransactions(lane), [])
      }
      assert.strictEqual(yield* work.plan(lease, [good]), undefined)
      assert.deepStrictEqual(statuses(), ["planned", "accepted"])
    })
  )

  it.effect("is refused with the books where these do not allow it, and so is a replacement", () =>
    Effect.gen(function* () {
      const { ids, statuses, work } = yield* worked("ann/p", "bob/q")
      const [first = "", second = ""] = ids
      const plan = yield* Trial.planOf(Trial.firstNumber, [first])
      yield* work.plan(lease, [plan])
      const next = yield* Trial.planOf(Trial.firstNumber + 1n, [second])
      const open = [{ cost: plan.prepared.cost, callers: ["ann"] }]
      const refused = { since: 0, allows: () => false }
      assert.deepStrictEqual((yield* work.plan(lease, [next], refused))?.open, open)
      const dearer = yield* Trial.signed(Trial.firstNumber)
      assert.deepStrictEqual((yield* work.replace(lease, Trial.firstNumber, dearer, refused))?.open, open)
      assert.deepStrictEqual(statuses(), ["planned", "accepted"])
      assert.strictEqual((yield* work.openTransactions(lane))[0]?.attempts.length, 1)
      const allowed = { since: 0, allows: () => true }
      assert.strictEqual(yield* work.replace(lease, Trial.firstNumber, dearer, allowed), undefined)
      assert.strictEqual((yield* work.openTransactions(lane))[0]?.attempts.length, 2)
    })
  )

  it.effect("is lost by a holder that has a successor, and by one whose lane was never opened", () =>
    Effect.gen(function* () {
      const { ids, work } = yield* worked("ann/p")
      const plan = yield* Trial.planOf(Trial.firstNumber, ids)
      const unopened = { ...lease, lane: `${network} two` }
      assert.strictEqual((yield* Effect.flip(work.plan(unopened, [plan])))._tag, "LeaseLost")
      assert.strictEqual(yield* work.openLane({ ...lease, epoch: 2 }, 99n), Trial.firstNumber)
      assert.strictEqual((yield* Effect.flip(work.plan(lease, [plan])))._tag, "LeaseLost")
    })
  )
})

describe("the books of a lane in memory", () => {
  it.effect("hold a transaction's cost once, and what it costs more when it is included again", () =>
    Effect.gen(function* () {
      const { ids, state, work } = yield* worked("ann/p", "bob/q")
      const plan = yield* Trial.planOf(Trial.firstNumber, ids)
      yield* work.plan(lease, [plan])
      const include = (inclusion: ReturnType<typeof Trial.inclusionOf> | null) =>
        work.record(lease, { changes: [], transaction: { number: Trial.firstNumber, inclusion } })
      yield* include(Trial.inclusionOf(plan.prepared, 10n))
      assert.deepStrictEqual((yield* work.books(network, 0)).open, [])
      yield* include(null)
      assert.deepStrictEqual(
        (yield* work.books(network, 0)).open.map(({ callers }) => callers),
        [["ann", "bob"]]
      )
      yield* include(Trial.inclusionOf(plan.prepared, 10n))
      assert.strictEqual(state.costs.spent(network, 0, undefined), 10n)
      yield* include(Trial.inclusionOf(plan.prepared, 16n))
      assert.strictEqual(state.costs.spent(network, 0, "ann"), 8n)
      assert.strictEqual(state.costs.spent(network, 0, undefined), 16n)
    })
  )

  it.effect("keep the 64 youngest closed transactions, to open them again with their bytes and payments", () =>
    Effect.gen(function* () {
      const { ids, state, work } = yield* worked("ann/p", "ann/q", "ann/r")
      const [first = "", second = "", third = ""] = ids
      const paid = [[first], [second, third], ...Array.from({ length: 63 }, () => [])]
      for (const [index, paymentIds] of paid.entries()) {
        yield* work.plan(lease, [yield* Trial.planOf(numberOf(index), paymentIds)])
        const changes = paymentIds.map((paymentId) => Trial.change(paymentId, "planned", "failed"))
        yield* work.record(lease, { changes, transaction: { number: numberOf(index), closed: true } })
      }
      const forgotten = state.records.find(third)
      assert.isDefined(forgotten)
      state.records.drop(forgotten)
      state.put(PaymentChange.created(forgotten, undefined, state.records.nextSerial(), undefined, 0), 0)
      const shapes = yield* Effect.forEach([0, 1, 64], (index) =>
        Effect.map(
          Effect.flatMap(Trial.signed(numberOf(index)), (noop) => work.fillGap(lease, numberOf(index), noop)),
          ({ attempts, payments }) => [attempts.length, payments.map(({ paymentId }) => paymentId)]
        )
      )
      assert.deepStrictEqual(shapes, [
        [1, []],
        [2, [second]],
        [2, []]
      ])
    })
  )

  it.effect("take a gap's noop only for a free number below the next one", () =>
    Effect.gen(function* () {
      const { ids, work } = yield* worked("ann/p")
      yield* work.plan(lease, [yield* Trial.planOf(Trial.firstNumber, ids)])
      const noop = yield* Trial.signed(Trial.firstNumber)
      for (const number of [Trial.firstNumber, Trial.firstNumber + 1n]) {
        assert.strictEqual((yield* Effect.flip(work.fillGap(lease, number, noop)))._tag, "LeaseLost")
      }
      assert.strictEqual(yield* work.skipTo(lease, Trial.firstNumber + 3n), Trial.firstNumber + 3n)
      assert.strictEqual(yield* work.skipTo(lease, Trial.firstNumber), Trial.firstNumber + 3n)
      yield* work.fillGap(lease, Trial.firstNumber + 1n, noop)
      assert.deepStrictEqual(
        (yield* work.openTransactions(lane)).map(({ number, payments }) => [number, payments.length]),
        [
          [Trial.firstNumber, 1],
          [Trial.firstNumber + 1n, 0]
        ]
      )
    })
  )
})
