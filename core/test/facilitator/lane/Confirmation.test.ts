import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import type { PaymentStore } from "../../../src/facilitator/store/PaymentStore.ts"
import { FacilitatorUnavailable } from "../../../src/protocol/ProtocolError.ts"
import type { LedgerTransaction } from "../../../src/testing/ledger/TestLedger.ts"
import * as LedgerShop from "../LedgerShop.ts"
import { begin, idsOf, patient, slotsOf, statusesOf } from "../LedgerSteps.ts"

const { claim, pay } = LedgerShop

const isNoop = ({ orders }: LedgerTransaction) => orders.length === 0

describe("sending", () => {
  it.effect("writes the exact bytes down before it sends them", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      let store: PaymentStore["Service"] | undefined
      const shop = yield* LedgerShop.open({
        scheme: (scheme) => ({
          ...scheme,
          submit: (prepared) =>
            Effect.gen(function* () {
              const [onRecord] = yield* Effect.orDie(store!.openTransactions("ledger:test signer-1"))
              assert.deepStrictEqual(onRecord?.attempts, [prepared])
              assert.deepStrictEqual(
                onRecord?.payments.map(({ status }) => status),
                ["planned"]
              )
              seen.push(prepared.bytes)
              return yield* scheme.submit(prepared)
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
    "the next transaction is not looked for before half of the time that the last one took, or a quarter second",
    () =>
      Effect.gen(function* () {
        const looks: Array<number> = []
        const { facilitator, ledger } = yield* LedgerShop.open({
          scheme: (scheme) => ({
            ...scheme,
            observe: (observedPayments, attempts) =>
              Effect.andThen(
                Effect.map(Clock.currentTimeMillis, (now) => looks.push(now)),
                scheme.observe(observedPayments, attempts)
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
      const [onRecord] = yield* store.openTransactions("ledger:test signer-1")
      assert.strictEqual(onRecord?.attempts.length, 1)
      yield* Fiber.interrupt(fiber)
    })
  )
})

describe("a node that rejects a transaction", () => {
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

  it.effect(
    "a chain that is down, or gas above the ceiling, before anything was sent leaves the payment as it was",
    () =>
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

  it.effect("a transaction that a node calls outdated is signed again for the same slot", () =>
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

describe("a slot that a foreign transaction uses", () => {
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

  it.effect("and a reorganisation opens again is taken, also while a payment that cannot leave it is open", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, store } = yield* LedgerShop.open(patient)
      ledger.finality = 500
      ledger.faults.holdBlocks = true
      const late = yield* begin(facilitator.settle(yield* pay({ validFor: 12 }), claim("a")))
      ledger.useSlot("signer-1")
      yield* TestClock.adjust("15 seconds")
      ledger.reorganise(1)
      assert.strictEqual(ledger.nextSlot("signer-1", "included"), 0n)
      ledger.faults.holdBlocks = false
      const next = yield* begin(facilitator.settle(yield* pay(), claim("b")), 30)
      const [first, second] = yield* store.page(0n, 2)
      assert.deepStrictEqual([first?.laneNumber, second?.laneNumber, second?.status], [0n, 1n, "included"])
      assert.strictEqual(ledger.nextSlot("signer-1", "included"), 2n)
      assert.strictEqual(ledger.transfers.length, 1)
      for (const caller of [late, next]) yield* Fiber.interrupt(caller)
    })
  )
})

describe("validity that ends", () => {
  it.effect("of a pending payment: a noop takes the slot, and others go on", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, store } = yield* LedgerShop.open(patient)
      ledger.market.base = 400n
      ledger.faults.holdBlocks = true
      const fiber = yield* begin(facilitator.settle(yield* pay({ validFor: 10 }), claim("a")))
      Object.assign(ledger.market, { base: 850n, ceiling: 850n })
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("20 seconds")
      assert.isFalse(ledger.submissions.some(isNoop))
      ledger.market.ceiling = 1_000n
      yield* TestClock.adjust("20 seconds")
      ledger.market.base = 10n
      const error = yield* Effect.flip(Fiber.join(fiber))
      assert.strictEqual(error._tag === "PaymentError" && error.code, "EXPIRED_PAYMENT")
      assert.strictEqual(ledger.transfers.length, 0)
      assert.isTrue(ledger.submissions.some(isNoop))
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

  it.effect("of a waiting payment: nothing was sent, and nothing will be", () =>
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

  it.effect("of a payment claimed and never settled: the record is closed", () =>
    Effect.gen(function* () {
      const { facilitator, store } = yield* LedgerShop.open()
      const { paymentId } = yield* facilitator.claim(yield* pay(), claim("a"))
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual((yield* store.find(paymentId))?.status, "expired")
    })
  )
})
