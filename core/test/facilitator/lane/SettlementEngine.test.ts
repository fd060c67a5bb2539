import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import type { Facilitator } from "../../../src/facilitator/Facilitator.ts"
import type { PaymentStore } from "../../../src/facilitator/store/PaymentStore.ts"
import { FacilitatorUnavailable } from "../../../src/protocol/ProtocolError.ts"
import { isSettled } from "../../../src/protocol/Settlement.ts"
import type { PreparedTransaction } from "../../../src/scheme/SchemeFacilitator.ts"
import type { LedgerTransaction, TestLedger } from "../../../src/testing/ledger/TestLedger.ts"
import * as LedgerShop from "../LedgerShop.ts"

const { claim, settleMany } = LedgerShop

type Service = Facilitator["Service"]

/** Starts a settlement; `seconds` later it is where it is. */
const begin = Effect.fnUntraced(function* <A, E>(
  settle: Effect.Effect<A, E>,
  seconds = 1
): Effect.fn.Return<Fiber.Fiber<A, E>> {
  const fiber = yield* Effect.forkDetach(settle)
  yield* TestClock.adjust(`${seconds} seconds`)
  return fiber
})

const pay = LedgerShop.pay

/** Callers wait longer than anything here takes. */
const patient = { settleTimeoutMillis: 600_000 }

const isFiller = ({ orders }: LedgerTransaction) => orders.length === 0
const idsOf = ({ submissions }: TestLedger) => new Set(submissions.map(({ id }) => id))
const slotsOf = ({ submissions }: TestLedger) => new Set(submissions.map(({ slot }) => slot))

const statusesOf = Effect.fnUntraced(function* (facilitator: Service, paymentId: string) {
  return (yield* facilitator.payment(paymentId))?.history.map(({ status }) => status)
})

describe("sending", () => {
  it.effect("writes the exact bytes down before it sends them", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      let store: PaymentStore["Service"] | undefined
      const shop = yield* LedgerShop.open({
        half: (half) => ({
          ...half,
          submit: (prepared) =>
            Effect.gen(function* () {
              const [flight] = yield* Effect.orDie(store!.openTransactions("ledger:test signer-1"))
              assert.deepStrictEqual(flight?.attempts, [prepared])
              assert.deepStrictEqual(
                flight?.payments.map(({ status }) => status),
                ["planned"]
              )
              seen.push(prepared.bytes)
              return yield* half.submit(prepared)
            })
        })
      })
      store = shop.store
      yield* shop.facilitator.settle(yield* pay(), claim("a"))
      assert.strictEqual(seen.length, 1)
    })
  )

  it.effect("is written down with what the first look shows, and by itself where that shows nothing", () =>
    Effect.gen(function* () {
      const travelled = ["accepted", "planned", "sent", "included"]
      const steps: Array<ReadonlyArray<string>> = []
      const { facilitator, ledger } = yield* LedgerShop.open({
        store: (store) => ({
          ...store,
          record: (lease, entry) => {
            steps.push(entry.changes.map(({ to }) => to))
            return store.record(lease, entry)
          }
        })
      })
      const quick = yield* facilitator.settle(yield* pay(), claim("quick"))
      assert.deepStrictEqual(yield* statusesOf(facilitator, quick.paymentId), travelled)
      assert.deepStrictEqual(steps.splice(0), [["sent", "included"]])
      ledger.faults.holdBlocks = true
      const fiber = yield* begin(facilitator.settle(yield* pay(), claim("slow")), 1)
      assert.deepStrictEqual(steps.splice(0), [["sent"]])
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("3 seconds")
      const slow = yield* Fiber.join(fiber)
      assert.deepStrictEqual(yield* statusesOf(facilitator, slow.paymentId), travelled)
    })
  )

  it.effect("no answer is no failure: the bytes may be on their way", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.loseAnswers = true
      const settled = yield* facilitator.settle(yield* pay(), claim("a"))
      assert.strictEqual(settled.status, "included")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("sends the same bytes again when they got lost", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.dropNext = 2
      const fiber = yield* begin(facilitator.settle(yield* pay(), claim("a")), 20)
      assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.strictEqual(ledger.submissions.length, 1)
    })
  )

  it.effect("sends the same bytes again when the pool forgot them", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.holdBlocks = true
      const fiber = yield* begin(facilitator.settle(yield* pay(), claim("a")))
      ledger.emptyPool()
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.strictEqual(idsOf(ledger).size, 1)
    })
  )

  it.effect("an outage of the chain while it watches is no failure", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.holdBlocks = true
      const fiber = yield* begin(facilitator.settle(yield* pay(), claim("a")))
      ledger.faults.down = true
      yield* TestClock.adjust("10 seconds")
      ledger.faults.down = false
      ledger.mine()
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
    })
  )

  it.effect("a receipt that shows late is waited for", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.hiddenLooks = 25
      const fiber = yield* begin(facilitator.settle(yield* pay(), claim("a")), 30)
      assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect(
    "what is sent next is not looked for before half of the time that the last one took, or a quarter second",
    () =>
      Effect.gen(function* () {
        const looks: Array<number> = []
        const { facilitator, ledger } = yield* LedgerShop.open({
          half: (half) => ({
            ...half,
            observe: (observedPayments, attempts) =>
              Effect.andThen(
                Effect.map(Clock.currentTimeMillis, (now) => looks.push(now)),
                half.observe(observedPayments, attempts)
              )
          })
        })
        const firstLookAfter = Effect.fnUntraced(function* (landing: number) {
          looks.length = 0
          ledger.faults.holdBlocks = true
          const sent = yield* Clock.currentTimeMillis
          const fiber = yield* Effect.forkChild(
            facilitator.settle(yield* pay(), claim(`after ${landing} since ${sent}`))
          )
          yield* TestClock.adjust(landing)
          ledger.mine()
          yield* TestClock.adjust("2 seconds")
          assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
          return (looks[0] ?? sent) - sent
        })
        assert.strictEqual(yield* firstLookAfter(100), 0)
        assert.strictEqual(yield* firstLookAfter(10_000), 60)
        assert.strictEqual(yield* firstLookAfter(0), 250)
        assert.strictEqual(yield* firstLookAfter(0), 125)
      })
  )

  it.effect("nothing is sent under a lease that has run out meanwhile", () =>
    Effect.gen(function* () {
      let valid = true
      const { facilitator, ledger, store } = yield* LedgerShop.open({
        leases: LedgerShop.leasesWhere((lease) => ({ ...lease, isValid: () => valid })),
        store: (honest) => ({
          ...honest,
          plan: (lease, plans) => Effect.tap(honest.plan(lease, plans), () => Effect.sync(() => (valid = false)))
        })
      })
      const fiber = yield* begin(facilitator.settle(yield* pay(), claim("a")), 5)
      assert.strictEqual(ledger.submissions.length, 0)
      const [flight] = yield* store.openTransactions("ledger:test signer-1")
      assert.strictEqual(flight?.attempts.length, 1)
      yield* Fiber.interrupt(fiber)
    })
  )
})

describe("lanes", () => {
  it.effect("100 payments at once on one signer all settle, each in a slot of its own", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      const fibers = yield* settleMany(facilitator, 100)
      yield* TestClock.adjust("5 seconds")
      for (const fiber of fibers) assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.strictEqual(ledger.transfers.length, 100)
      assert.strictEqual(slotsOf(ledger).size, 100)
    })
  )

  it.effect("no more are on their way than a lane holds, and in the order of their slots", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.holdBlocks = true
      const fibers = yield* settleMany(facilitator, 40)
      yield* TestClock.adjust("2 seconds")
      const slots = ledger.submissions.map(({ slot }) => slot)
      assert.strictEqual(new Set(slots).size, 16)
      assert.deepStrictEqual(
        [...new Set(slots)],
        Array.from({ length: 16 }, (_, index) => BigInt(index))
      )
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("20 seconds")
      for (const fiber of fibers) assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
    })
  )

  it.effect("several signers share the load", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ lanes: ["signer-1", "signer-2"] })
      const fibers = yield* settleMany(facilitator, 10)
      yield* TestClock.adjust("2 seconds")
      for (const fiber of fibers) yield* Fiber.join(fiber)
      assert.strictEqual(ledger.submissions.filter(({ lane }) => lane === "signer-1").length, 5)
      assert.strictEqual(ledger.submissions.filter(({ lane }) => lane === "signer-2").length, 5)
    })
  )

  it.effect("payers who send their own transactions need no slots", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ lanes: [] })
      const fibers = yield* settleMany(facilitator, 30)
      yield* TestClock.adjust("2 seconds")
      for (const fiber of fibers) assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.strictEqual(ledger.transfers.length, 30)
      assert.deepStrictEqual([...slotsOf(ledger)], [undefined])
    })
  )

  it.effect("a batch carries many, waits for company, and one that fails in it fails alone", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ batches: { maximum: 5, windowMillis: 50 } })
      ledger.faults.failEntries = 1
      const fibers = yield* settleMany(facilitator, 12)
      yield* TestClock.adjust("5 seconds")
      const ends = yield* Effect.forEach(fibers, (fiber) => Effect.result(Fiber.join(fiber)))
      assert.strictEqual(ends.filter(({ _tag }) => _tag === "Success").length, 11)
      assert.strictEqual(ledger.transfers.length, 11)
      assert.deepStrictEqual(
        ledger.submissions.map(({ orders }) => orders.length),
        [5, 5, 2]
      )
    })
  )

  it.effect("a payment that is alone waits for no company where the last one that waited had none", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* LedgerShop.open({ batches: { maximum: 5, windowMillis: 50 } })
      const settlesAtOnce = Effect.fnUntraced(function* (name: string) {
        const fiber = yield* Effect.forkChild(facilitator.settle(yield* pay(), claim(name)))
        yield* TestClock.adjust("40 millis")
        const isSettled = fiber.pollUnsafe() !== undefined
        yield* TestClock.adjust("5 seconds")
        yield* Fiber.join(fiber)
        return isSettled
      })
      assert.isFalse(yield* settlesAtOnce("first"))
      assert.isTrue(yield* settlesAtOnce("second"))
      assert.isTrue(yield* settlesAtOnce("third"))
      const together = yield* settleMany(facilitator, 3)
      yield* TestClock.adjust("5 seconds")
      for (const fiber of together) assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
    })
  )

  it.effect("a batch departs once as many have come as last time, and nobody else does for a while", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ batches: { maximum: 5, windowMillis: 40 } })
      const settlesWithin = Effect.fnUntraced(function* (millis: number, name: string, count: number) {
        const fibers = yield* settleMany(facilitator, count, name)
        yield* TestClock.adjust(`${millis} millis`)
        const settled = fibers.filter((fiber) => fiber.pollUnsafe() !== undefined).length
        yield* TestClock.adjust("5 seconds")
        for (const fiber of fibers) yield* Fiber.join(fiber)
        return settled
      })
      assert.strictEqual(yield* settlesWithin(39, "first", 3), 0)
      assert.strictEqual(yield* settlesWithin(3, "early", 3), 0)
      assert.strictEqual(yield* settlesWithin(16, "second", 3), 3)
      assert.strictEqual(yield* settlesWithin(16, "more", 4), 4)
      assert.strictEqual(yield* settlesWithin(16, "fewer", 2), 2)
      assert.strictEqual(yield* settlesWithin(39, "alone", 1), 0)
      assert.deepStrictEqual(
        ledger.submissions.map(({ orders }) => orders.length),
        [3, 3, 3, 4, 2, 1]
      )
    })
  )

  it.effect("a batch departs when nobody has come for four times as long as they come apart", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ batches: { maximum: 9, windowMillis: 40 } })
      const sizes = () => ledger.submissions.map(({ orders }) => orders.length)
      const come = Effect.fnUntraced(function* (name: string, count: number, apart: number) {
        yield* settleMany(facilitator, 1, name)
        for (let next = 1; next < count; next++) {
          yield* TestClock.adjust(`${apart} millis`)
          yield* settleMany(facilitator, 1, `${name} ${next}`)
        }
      })
      yield* come("first", 4, 3)
      yield* TestClock.adjust("30 millis")
      assert.deepStrictEqual(sizes(), [], "nothing is known yet of how they come")
      yield* TestClock.adjust("5 seconds")
      yield* come("fewer", 3, 3)
      yield* TestClock.adjust("13 millis")
      assert.deepStrictEqual(sizes(), [4])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(sizes(), [4, 3])
      yield* TestClock.adjust("5 seconds")
      yield* come("quicker than the last ones", 2, 1)
      yield* TestClock.adjust("14 millis")
      assert.deepStrictEqual(sizes(), [4, 3])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(sizes(), [4, 3, 2])
      yield* TestClock.adjust("5 seconds")
    })
  )

  it.effect("a batch waits as long as company comes, no longer than its window, and not when it is full", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ batches: { maximum: 20, windowMillis: 40 } })
      const sizes = () => ledger.submissions.map(({ orders }) => orders.length)
      yield* settleMany(facilitator, 2, "first")
      yield* TestClock.adjust("5 seconds")
      for (let count = 0; count < 12; count++) {
        yield* settleMany(facilitator, 1, `coming ${count}`)
        yield* TestClock.adjust("3.5 millis")
      }
      assert.deepStrictEqual(sizes(), [2, 12])
      yield* TestClock.adjust("5 seconds")
      yield* settleMany(facilitator, 20, "full")
      yield* TestClock.adjust("4 millis")
      assert.deepStrictEqual(sizes(), [2, 12, 20])
    })
  )

  it.effect("those who have departed alone are not counted as company of those who come after them", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({
        batches: { maximum: 6, windowMillis: 40 },
        half: (half) => ({ ...half, chainHead: Effect.andThen(Effect.sleep("10 millis"), half.chainHead) })
      })
      for (let count = 0; count < 6; count++) {
        yield* settleMany(facilitator, 1, `alone ${count}`)
        yield* TestClock.adjust("5 seconds")
      }
      yield* settleMany(facilitator, 1, "ahead")
      yield* TestClock.adjust("5 millis")
      yield* settleMany(facilitator, 2, "pair")
      yield* TestClock.adjust("6 millis")
      yield* settleMany(facilitator, 1, "right behind")
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(
        ledger.submissions.map(({ orders }) => orders.length),
        [1, 1, 1, 1, 1, 1, 1, 3]
      )
    })
  )

  it.effect("what does not fit into one transaction goes into the next", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ batches: { maximum: 10, windowMillis: 50 }, fitting: 3 })
      const fibers = yield* settleMany(facilitator, 10)
      yield* TestClock.adjust("5 seconds")
      for (const fiber of fibers) assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.deepStrictEqual(
        ledger.submissions.map(({ orders }) => orders.length),
        [3, 3, 3, 1]
      )
    })
  )
})

describe("a node that does not take a transaction", () => {
  it.effect("gets the same bytes again until it does; others do not wait behind them", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.refusal = "insufficient funds for gas"
      const fiber = yield* begin(facilitator.settle(yield* pay(), claim("a")))
      const behind = yield* begin(Effect.flip(facilitator.settle(yield* pay(), claim("b"))))
      const error = yield* Fiber.join(behind)
      assert.instanceOf(error, FacilitatorUnavailable)
      assert.include(error.message, "insufficient funds for gas")
      ledger.faults.refusal = undefined
      yield* TestClock.adjust("10 seconds")
      const settled = yield* Fiber.join(fiber)
      assert.strictEqual(settled.status, "included")
      assert.deepStrictEqual([...idsOf(ledger)], [settled.transaction])
      assert.deepStrictEqual(yield* statusesOf(facilitator, settled.paymentId), [
        "accepted",
        "planned",
        "sent",
        "included",
        "final"
      ])
    })
  )

  it.effect("a chain that is down or too dear before anything was sent leaves the payment as it was", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      const request = yield* pay()
      ledger.market.ceiling = 1n
      const error = yield* Effect.flip(facilitator.settle(request, claim("a")))
      assert.strictEqual(error._tag, "FacilitatorUnavailable")
      assert.include(error.message, "more than the 1")
      assert.strictEqual(ledger.submissions.length, 0)
      ledger.market.ceiling = 1_000n
      const settled = yield* facilitator.settle(request, claim("b"))
      assert.strictEqual(settled.status, "included")
      assert.strictEqual(settled.execution, "granted")
    })
  )

  it.effect("what has become too cheap is replaced in its slot by an eighth more, and never above the ceiling", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, store } = yield* LedgerShop.open(patient)
      ledger.finality = 1_000
      ledger.faults.holdBlocks = true
      const fiber = yield* begin(facilitator.settle(yield* pay({ validFor: 80 }), claim("a")))
      ledger.market.base = 2_000n
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("30 seconds")
      assert.isAbove(idsOf(ledger).size, 1)
      assert.isTrue(ledger.submissions.every(({ fees }) => fees !== undefined && fees.maximum <= 1_000n))
      assert.strictEqual(ledger.transfers.length, 0)
      ledger.market.base = 100n
      yield* TestClock.adjust("20 seconds")
      const settled = yield* Fiber.join(fiber)
      assert.strictEqual(settled.status, "included")
      const [flight] = yield* store.openTransactions("ledger:test signer-1")
      const [first, second] = flight?.attempts ?? []
      assert.isTrue((second?.fees?.maximum ?? 0n) * 8n >= (first?.fees?.maximum ?? 0n) * 9n)
      assert.strictEqual(second?.slot?.number, first?.slot?.number)
      assert.isTrue(flight?.attempts.some(({ transaction }) => transaction === settled.transaction))
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("what a node calls outdated is signed again for the same slot", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.outdated = "too old"
      const fiber = yield* begin(facilitator.settle(yield* pay(), claim("a")))
      ledger.faults.outdated = undefined
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.deepStrictEqual([...slotsOf(ledger)], [0n])
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )
})

describe("a slot that a stranger uses", () => {
  it.effect("sends its payments to another slot, and one transfer happens", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.holdBlocks = true
      const fiber = yield* begin(facilitator.settle(yield* pay(), claim("a")))
      ledger.useSlot("signer-1")
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("30 seconds")
      const settled = yield* Fiber.join(fiber)
      assert.strictEqual(settled.status, "included")
      assert.strictEqual(ledger.transfers.length, 1)
      assert.deepStrictEqual([...slotsOf(ledger)], [0n, 1n])
      assert.deepStrictEqual(yield* statusesOf(facilitator, settled.paymentId), [
        "accepted",
        "planned",
        "sent",
        "accepted",
        "planned",
        "sent",
        "included",
        "final"
      ])
    })
  )

  it.effect("before the next payment only moves the lane on", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      yield* facilitator.settle(yield* pay(), claim("a"))
      ledger.useSlot("signer-1")
      const fiber = yield* begin(facilitator.settle(yield* pay(), claim("b")), 30)
      assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.strictEqual(ledger.transfers.length, 2)
    })
  )
})

describe("validity that ends", () => {
  it.effect("in the air: the slot is given up to a transaction that does nothing, and others go on", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, store } = yield* LedgerShop.open(patient)
      ledger.market.base = 400n
      ledger.faults.holdBlocks = true
      const fiber = yield* begin(facilitator.settle(yield* pay({ validFor: 10 }), claim("a")))
      Object.assign(ledger.market, { base: 850n, ceiling: 850n })
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("20 seconds")
      assert.isFalse(ledger.submissions.some(isFiller))
      ledger.market.ceiling = 1_000n
      yield* TestClock.adjust("20 seconds")
      ledger.market.base = 10n
      const error = yield* Effect.flip(Fiber.join(fiber))
      assert.strictEqual(error._tag === "PaymentError" && error.code, "EXPIRED_PAYMENT")
      assert.strictEqual(ledger.transfers.length, 0)
      assert.isTrue(ledger.submissions.some(isFiller))
      const [stored] = yield* store.page(0n, 1)
      assert.deepStrictEqual(
        stored?.history.map(({ status }) => status),
        ["accepted", "planned", "sent", "expired"]
      )
      assert.include(stored?.history.at(-1)?.note, "unused at block")
      const next = yield* begin(facilitator.settle(yield* pay(), claim("b")), 2)
      assert.strictEqual((yield* Fiber.join(next)).status, "included")
    })
  )

  it.effect("in the queue: nothing was sent, and nothing will be", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ capacity: 1, settleTimeoutMillis: 600_000 })
      ledger.faults.holdBlocks = true
      const first = yield* begin(facilitator.settle(yield* pay({ validFor: 80 }), claim("a")))
      const late = yield* pay({ validFor: 10 })
      const second = yield* begin(facilitator.settle(late, claim("b")))
      yield* TestClock.adjust("15 seconds")
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(first)).status, "included")
      const unproven = yield* Effect.flip(Fiber.join(second))
      assert.strictEqual(unproven._tag, "FacilitatorUnavailable")
      assert.include(unproven.message, "do not sign a new one")
      yield* TestClock.adjust("10 seconds")
      const proven = yield* Effect.flip(facilitator.settle(late, claim("b")))
      assert.strictEqual(proven._tag === "PaymentError" && proven.code, "EXPIRED_PAYMENT")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("while claimed and never settled: the record is closed", () =>
    Effect.gen(function* () {
      const { facilitator, store } = yield* LedgerShop.open()
      const { paymentId } = yield* facilitator.claim(yield* pay(), claim("a"))
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual((yield* store.find(paymentId))?.status, "expired")
    })
  )
})

describe("somebody else", () => {
  it.effect("who submits the authorization settles it for us, when it was claimed before", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.holdBlocks = true
      const fiber = yield* begin(facilitator.settle(yield* pay(), claim("a")))
      const order = ledger.submissions[0]?.orders[0]
      assert.isDefined(order)
      ledger.settleByStranger(order)
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("5 seconds")
      const settled = yield* Fiber.join(fiber)
      assert.strictEqual(settled.transaction, `stranger/${order.nonce}`)
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("who submits it after it failed settles it late: the record follows the money", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, store } = yield* LedgerShop.open()
      ledger.faults.failEntries = 1
      const request = yield* pay()
      const error = yield* Effect.flip(facilitator.settle(request, claim("a")))
      assert.strictEqual(error._tag, "ValidationError")
      const [stored] = yield* store.page(0n, 10)
      assert.strictEqual(stored?.status, "failed")
      ledger.settleByStranger(ledger.submissions[0]!.orders[0]!)
      yield* TestClock.adjust("90 seconds")
      assert.strictEqual((yield* store.find(stored?.paymentId ?? ""))?.status, "final")
      const again = yield* facilitator.settle(request, claim("b"))
      assert.strictEqual(again.execution, "granted")
    })
  )

  it.effect("an authorization that the payer burns fails with proof, and says what burnt it", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.holdBlocks = true
      const fiber = yield* begin(facilitator.settle(yield* pay(), claim("a")))
      const order = ledger.submissions[0]?.orders[0]
      assert.isDefined(order)
      ledger.burn(order)
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("5 seconds")
      const error = yield* Effect.flip(Fiber.join(fiber))
      assert.strictEqual(error._tag === "ValidationError" && error.reason, "already_used")
      assert.strictEqual(error._tag === "ValidationError" && error.detail, `burn/${order.nonce}`)
      assert.strictEqual(ledger.transfers.length, 0)
    })
  )
})

describe("blocks", () => {
  it.effect("deep enough make a payment final, and its flight is not watched any more", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, store } = yield* LedgerShop.open()
      const { paymentId } = yield* facilitator.settle(yield* pay(), claim("a"))
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* store.find(paymentId))?.status, "included")
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* store.find(paymentId))?.status, "final")
      assert.deepStrictEqual(yield* store.openTransactions("ledger:test signer-1"), [])
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("are not final by one false answer of a node: what it does not show again is sent after all", () =>
    Effect.gen(function* () {
      let lies = 1
      const { facilitator, ledger, store } = yield* LedgerShop.open({
        half: (half) => ({
          ...half,
          observe: (observedPayments, attempts) =>
            Effect.suspend(() => {
              const [attempt] = attempts
              if (lies-- <= 0 || attempt === undefined) return half.observe(observedPayments, attempts)
              return Effect.map(half.chainHead, ({ head: { hash, number } }) => {
                const block = { hash, number }
                const { transaction } = attempt
                return {
                  inclusion: { transaction, block, cost: 1n },
                  observations: observedPayments.map(() => ({
                    _tag: "Settled" as const,
                    transaction,
                    block,
                    external: false
                  }))
                }
              })
            })
        })
      })
      ledger.faults.dropNext = 1
      const { paymentId, status } = yield* facilitator.settle(yield* pay(), claim("a"))
      assert.strictEqual(status, "included")
      assert.strictEqual(ledger.transfers.length, 0)
      const next = yield* begin(facilitator.settle(yield* pay(), claim("b")))
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* Fiber.join(next)).execution, "granted")
      assert.strictEqual(ledger.transfers.length, 2)
      const stored = yield* store.find(paymentId)
      assert.deepStrictEqual(
        stored?.history.map(({ status }) => status),
        ["accepted", "planned", "sent", "included", "sent", "included", "final"]
      )
    })
  )

  it.effect("that are reorganised away bring their payments back: the same bytes, one transfer", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, store } = yield* LedgerShop.open()
      const fibers = yield* settleMany(facilitator, 5)
      yield* TestClock.adjust("2 seconds")
      const settled = yield* Effect.forEach(fibers, (fiber) => Fiber.join(fiber))
      ledger.reorganise(7)
      assert.strictEqual(ledger.transfers.length, 0)
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual(ledger.transfers.length, 5)
      assert.strictEqual(idsOf(ledger).size, 5)
      for (const { paymentId } of settled) {
        const stored = yield* store.find(paymentId)
        assert.strictEqual(stored?.status, "final")
        assert.deepStrictEqual(
          stored?.history.map(({ status }) => status),
          ["accepted", "planned", "sent", "included", "sent", "included", "final"]
        )
      }
    })
  )
})

describe("after a restart", () => {
  /** A payment whose bytes were written down and perhaps sent, when its process ended. */
  const interrupted = Effect.fnUntraced(function* (arrived: boolean) {
    const shop = yield* LedgerShop.open({
      half: (half) => ({
        ...half,
        submit: (prepared: PreparedTransaction) =>
          Effect.andThen(arrived ? Effect.ignore(half.submit(prepared)) : Effect.void, Effect.never)
      })
    })
    shop.ledger.faults.holdBlocks = true
    const request = yield* pay()
    const caller = yield* begin(shop.facilitator.settle(request, claim("a")))
    yield* Fiber.interrupt(caller)
    return { ...shop, request }
  })

  it.effect("the stored bytes are sent, not new ones, without anybody asking", () =>
    Effect.gen(function* () {
      const { ledger, request, restart } = yield* interrupted(false)
      ledger.faults.holdBlocks = false
      const facilitator = yield* restart
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(ledger.transfers.length, 1)
      const settled = yield* facilitator.settle(request, claim("b"))
      const statuses = yield* statusesOf(facilitator, settled.paymentId)
      assert.strictEqual(settled.execution, "granted")
      assert.strictEqual(statuses?.filter((status) => status === "planned").length, 1)
      assert.strictEqual(ledger.submissions.length, 1)
    })
  )

  it.effect("bytes that are in the pool are not joined by others", () =>
    Effect.gen(function* () {
      const { ledger, request, restart } = yield* interrupted(true)
      const facilitator = yield* restart
      yield* TestClock.adjust("2 seconds")
      ledger.faults.holdBlocks = false
      const fiber = yield* begin(facilitator.settle(request, claim("b")), 3)
      assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.strictEqual(idsOf(ledger).size, 1)
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("a transfer that happened meanwhile is found", () =>
    Effect.gen(function* () {
      const { ledger, request, restart } = yield* interrupted(true)
      ledger.mine()
      yield* TestClock.adjust("5 minutes")
      const facilitator = yield* restart
      const settled = yield* Fiber.join(yield* begin(facilitator.settle(request, claim("b")), 3))
      assert.strictEqual(settled.execution, "granted")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("payments that waited in the queue depart", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, restart } = yield* LedgerShop.open({ capacity: 2 })
      ledger.faults.holdBlocks = true
      const fibers = yield* settleMany(facilitator, 10)
      yield* TestClock.adjust("1 second")
      for (const fiber of fibers) yield* Fiber.interrupt(fiber)
      yield* restart
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(ledger.transfers.length, 10)
      assert.strictEqual(idsOf(ledger).size, 10)
    })
  )
})

describe("records that cannot be asked", () => {
  const unavailable = Effect.fail(new FacilitatorUnavailable({ message: "the disk is full" }))

  it.effect("before the bytes are written down: nothing is sent; later it is", () =>
    Effect.gen(function* () {
      let broken = true
      const { facilitator, ledger } = yield* LedgerShop.open({
        store: (store) => ({
          ...store,
          plan: (lease, plans) => (broken ? unavailable : store.plan(lease, plans))
        })
      })
      const fiber = yield* begin(facilitator.settle(yield* pay(), claim("a")), 3)
      assert.strictEqual(ledger.submissions.length, 0)
      broken = false
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.deepStrictEqual([...slotsOf(ledger)], [0n])
    })
  )

  it.effect("though the bytes were written down: exactly those are sent", () =>
    Effect.gen(function* () {
      let broken = true
      const { facilitator, ledger } = yield* LedgerShop.open({
        store: (store) => ({
          ...store,
          plan: (lease, plans) =>
            Effect.tap(store.plan(lease, plans), () => {
              const was = broken
              broken = false
              return was ? unavailable : Effect.void
            })
        })
      })
      const fiber = yield* begin(facilitator.settle(yield* pay(), claim("a")), 3)
      const settled = yield* Fiber.join(fiber)
      assert.deepStrictEqual([...idsOf(ledger)], [settled.transaction])
      const statuses = yield* statusesOf(facilitator, settled.paymentId)
      assert.strictEqual(statuses?.filter((status) => status === "planned").length, 1)
    })
  )

  it.effect("after the bytes were sent: the record catches up", () =>
    Effect.gen(function* () {
      let broken = true
      const { facilitator, ledger } = yield* LedgerShop.open({
        store: (store) => ({
          ...store,
          record: (lease, entry) => (broken ? unavailable : store.record(lease, entry))
        })
      })
      const fiber = yield* begin(facilitator.settle(yield* pay(), claim("a")), 3)
      assert.strictEqual(ledger.transfers.length, 1)
      broken = false
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )
})

describe("ceilings of what settling may cost", () => {
  it.effect("hold for all: nothing is sent beyond them, and after a day there is room again", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ gasCeilings: { total: () => 4_000n } })
      let spent = 0n
      let refused = 0
      for (let index = 0; index < 10; index++) {
        const end = yield* Effect.result(facilitator.settle(yield* pay(), claim(`n${index}`)))
        if (end._tag === "Failure") {
          assert.include(end.failure.message, "ceiling")
          refused++
        }
      }
      for (const id of idsOf(ledger)) spent += ledger.receipt(id)?.cost ?? 0n
      assert.isAbove(refused, 0)
      assert.isBelow(refused, 10)
      assert.isTrue(spent <= 4_000n)
      yield* TestClock.adjust("25 hours")
      assert.strictEqual((yield* facilitator.settle(yield* pay(), claim("late"))).status, "included")
    })
  )

  it.effect("hold for each caller by itself", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({
        gasCeilings: { caller: (name) => (name === "greedy" ? 0n : undefined) }
      })
      const greedy = yield* Effect.flip(LedgerShop.as("greedy", facilitator.settle(yield* pay(), claim("a"))))
      assert.include(greedy.message, "ceiling")
      const modest = yield* LedgerShop.as("modest", facilitator.settle(yield* pay(), claim("b")))
      assert.strictEqual(modest.status, "included")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )
})

describe("closing", () => {
  it.effect("lets a settlement under way end first, where records do not outlive the process", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, restart, store } = yield* LedgerShop.open({ drainMillis: 25_000 })
      ledger.faults.holdBlocks = true
      const caller = yield* begin(facilitator.settle(yield* pay(), claim("a")))
      yield* Fiber.interrupt(caller)
      const closing = yield* Effect.forkChild(restart)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(ledger.transfers.length, 0)
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("3 seconds")
      yield* Fiber.join(closing)
      const [stored] = yield* store.page(0n, 1)
      assert.isTrue(stored !== undefined && isSettled(stored.status))
    })
  )
})
