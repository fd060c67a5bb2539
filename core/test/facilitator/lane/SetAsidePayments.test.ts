/** Payments whose slots were used by others, and what happens to them between one transaction and the next. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as MemoryPaymentStore from "../../../src/facilitator/store/MemoryPaymentStore.ts"
import type { SchemeFacilitator } from "../../../src/scheme/SchemeFacilitator.ts"
import * as LedgerShop from "../LedgerShop.ts"

const { claim, pay } = LedgerShop
const lane = "ledger:test signer-1"

/** A payment that has lost its slot to a foreign transaction, with the chain in a state that `then` makes right after. */
const lost = Effect.fnUntraced(function* (then: (shop: LedgerShop.Shop) => void, options: LedgerShop.Options = {}) {
  const shop = yield* LedgerShop.open({ settleTimeoutMillis: 600_000, ...options })
  const { facilitator, ledger, store } = shop
  ledger.faults.holdBlocks = true
  const request = yield* pay({ validFor: 60 })
  const caller = yield* Effect.forkDetach(facilitator.settle(request, claim("a")))
  yield* TestClock.adjust("1 second")
  const [stored] = yield* store.page(0n, 1)
  assert.strictEqual(stored?.status, "sent")
  ledger.useSlot("signer-1")
  ledger.faults.holdBlocks = false
  then(shop)
  yield* TestClock.adjust("15 seconds")
  return { ...shop, request, caller, paymentId: stored?.paymentId ?? "" }
})

/** As on an EVM chain, where a payment is looked for only once one of our own transactions is in a block. */
const showsOwnAlone = (scheme: SchemeFacilitator): SchemeFacilitator => ({
  ...scheme,
  observe: (observedPayments, attempts) =>
    Effect.map(scheme.observe(observedPayments, attempts), (observation) =>
      observation.inclusion === undefined
        ? { ...observation, observations: observedPayments.map(() => ({ _tag: "Pending" as const })) }
        : observation
    )
})

const orderOf = ({ ledger }: LedgerShop.Shop) => ledger.submissions[0]!.orders[0]!

describe("a payment between two transactions", () => {
  it.effect("that cannot be submitted stays in its lane, and ends by proof alone", () =>
    Effect.gen(function* () {
      const { ledger, paymentId, store } = yield* lost(({ ledger }) => (ledger.market.ceiling = 1n))
      const waiting = yield* store.find(paymentId)
      assert.strictEqual(waiting?.status, "accepted")
      assert.strictEqual(waiting?.lane, lane)
      yield* TestClock.adjust("10 minutes")
      const stored = yield* store.find(paymentId)
      assert.strictEqual(stored?.status, "expired")
      assert.include(stored?.history.at(-1)?.note, "unused at block")
      assert.strictEqual(ledger.transfers.length, 0)
    })
  )

  it.effect("that a third party submits is settled, even while nothing can be submitted", () =>
    Effect.gen(function* () {
      const shop = yield* lost(({ ledger }) => (ledger.market.ceiling = 1n))
      shop.ledger.settleByStranger(orderOf(shop))
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual((yield* shop.store.find(shop.paymentId))?.status, "final")
      assert.strictEqual((yield* Fiber.join(shop.caller)).status, "final")
    })
  )

  it.effect("that a third party submits is watched until its block is deep: it may be taken back", () =>
    Effect.gen(function* () {
      const shop = yield* lost((one) => {
        one.ledger.finality = 100
        one.ledger.settleByStranger(orderOf(one))
      })
      const { ledger, paymentId, store } = shop
      ledger.faults.holdBlocks = true
      ledger.reorganise(20)
      assert.strictEqual(ledger.transfers.length, 0)
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("10 minutes")
      const stored = yield* store.find(paymentId)
      const settled = stored?.status === "included" || stored?.status === "final"
      assert.strictEqual(settled, ledger.transfers.length === 1)
    })
  )

  it.effect("does not keep others from being submitted", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* lost((one) => {
        one.ledger.withdraw(LedgerShop.payer, 10n ** 9n)
        one.ledger.deposit("acct-bob", 10n ** 9n)
      })
      const settled = yield* facilitator.settle(yield* pay({ payer: "acct-bob" }), claim("b"))
      assert.strictEqual(settled.status, "included")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("survives a chain that is down when its process begins again", () =>
    Effect.gen(function* () {
      const { caller, ledger, paymentId, restart, store } = yield* lost(({ ledger }) => (ledger.market.ceiling = 1n))
      yield* Fiber.interrupt(caller)
      ledger.faults.down = true
      yield* restart
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* store.find(paymentId))?.lane, lane)
      ledger.faults.down = false
      ledger.market.ceiling = 1_000n
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* store.find(paymentId))?.status, "final")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )
})

describe("a slot that a foreign transaction has used", () => {
  it.effect("while another foreign transaction has moved the money: the payment becomes final", () =>
    Effect.gen(function* () {
      const { caller, ledger, paymentId, store } = yield* lost((one) => one.ledger.settleByStranger(orderOf(one)), {
        scheme: showsOwnAlone
      })
      assert.strictEqual((yield* Fiber.join(caller)).transaction, ledger.transfers[0]?.transaction)
      yield* TestClock.adjust("30 seconds")
      const stored = yield* store.find(paymentId)
      assert.deepStrictEqual(
        stored?.history.map(({ status }) => status),
        ["accepted", "planned", "sent", "included", "final"]
      )
      assert.deepStrictEqual(yield* store.openTransactions(lane), [])
    })
  )

  it.effect("and whose payment's transfer is taken back: the payment takes another slot", () =>
    Effect.gen(function* () {
      let used = 0n
      const { caller, ledger, paymentId, store } = yield* lost(
        (one) => {
          one.ledger.finality = 100
          used = one.ledger.head().number
          one.ledger.settleByStranger(orderOf(one))
        },
        { scheme: showsOwnAlone }
      )
      yield* Fiber.join(caller)
      ledger.reorganise(Number(ledger.head().number - used))
      assert.strictEqual(ledger.transfers.length, 0)
      yield* TestClock.adjust("10 seconds")
      const stored = yield* store.find(paymentId)
      assert.strictEqual(stored?.status, "included")
      assert.strictEqual(stored?.laneNumber, 1n)
      assert.deepStrictEqual(
        ledger.transfers.map(({ transaction }) => transaction),
        [stored?.transaction]
      )
    })
  )

  it.effect("and that is open again after a reorganisation does not hold the lane up", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* lost((one) => void (one.ledger.finality = 100))
      assert.strictEqual(ledger.transfers.length, 1)
      yield* TestClock.adjust("1 second")
      ledger.faults.holdBlocks = true
      ledger.reorganise(30)
      ledger.emptyPool()
      ledger.faults.holdBlocks = false
      const settling = yield* Effect.forkDetach(facilitator.settle(yield* pay(), claim("b")))
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* Fiber.join(settling)).status, "included")
      assert.strictEqual(ledger.transfers.length, 2)
    })
  )

  it.effect("and that our own transaction uses after a reorganisation: who waits without a claim has paid", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, store } = yield* LedgerShop.open({ settleTimeoutMillis: 600_000 })
      ledger.finality = 100
      ledger.faults.holdBlocks = true
      const request = yield* pay({ bound: false })
      const caller = yield* Effect.forkDetach(facilitator.settle(request))
      yield* TestClock.adjust("1 second")
      const [own] = ledger.submissions
      ledger.useSlot("signer-1")
      ledger.market.ceiling = 1n
      yield* TestClock.adjust("15 seconds")
      yield* Fiber.interrupt(caller)
      assert.strictEqual((yield* store.page(0n, 1))[0]?.status, "accepted")
      ledger.reorganise(1)
      ledger.submit(own!)
      ledger.mine()
      assert.strictEqual(ledger.transfers.length, 1)
      assert.deepStrictEqual(yield* facilitator.verify(request), { payer: LedgerShop.payer })
      const again = yield* Effect.forkDetach(facilitator.settle(request))
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("3 minutes")
      const settled = yield* Fiber.join(again)
      assert.deepInclude(settled, { status: "final", transaction: own!.id })
    })
  )

  it.effect("by all appearances, though our own transaction is in it, costs what that one has cost", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, store } = yield* LedgerShop.open({ settleTimeoutMillis: 600_000 })
      ledger.faults.hiddenLooks = 16
      const settling = yield* Effect.forkDetach(facilitator.settle(yield* pay(), claim("a")))
      yield* TestClock.adjust("60 seconds")
      const settled = yield* Fiber.join(settling)
      assert.strictEqual(ledger.transfers.length, 1)
      assert.strictEqual(settled.transaction, ledger.transfers[0]?.transaction)
      const ids = new Set(ledger.submissions.map(({ id }) => id))
      let cost = 0n
      for (const id of ids) cost += ledger.receipt(id)?.cost ?? 0n
      assert.strictEqual(yield* store.spent("ledger:test", 0), cost)
      assert.deepStrictEqual(yield* store.openTransactions(lane), [])
    })
  )

  it.effect("by a transaction that stays in the pool for ever does not hold the lane up", () =>
    Effect.gen(function* () {
      const { scheme, ledger } = yield* LedgerShop.open({ settleTimeoutMillis: 600_000 })
      ledger.faults.holdBlocks = true
      const fees = { maximum: 10n, priority: 1n }
      ledger.submit({ id: "foreign", lane: "signer-1", slot: 0n, orders: [], fees })
      Object.assign(ledger.market, { base: 20n })
      const store = yield* MemoryPaymentStore.make
      const facilitator = yield* LedgerShop.facilitatorOf([scheme], store)
      const settling = yield* Effect.forkDetach(facilitator.settle(yield* pay(), claim("a")))
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual((yield* Fiber.join(settling)).status, "included")
      assert.isUndefined(ledger.receipt("foreign"))
    })
  )
})
