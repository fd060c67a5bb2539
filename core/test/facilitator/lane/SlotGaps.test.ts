/** Numbers that a lane has left out and no transaction takes: they are filled, and everybody behind them gets through. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import type { PreparedTransaction, SchemeFacilitator, SlotCount } from "../../../src/scheme/SchemeFacilitator.ts"
import type { TestLedger } from "../../../src/testing/ledger/TestLedger.ts"
import * as LedgerShop from "../LedgerShop.ts"
import { patient } from "../LedgerSteps.ts"

const { claim, pay } = LedgerShop
const lane = "ledger:test signer-1"

const noops = ({ submissions }: TestLedger) =>
  new Set(submissions.filter(({ orders }) => orders.length === 0).map(({ slot }) => slot))

/** A scheme facilitator whose node counts in its own way. */
const counting =
  (change: (honest: bigint, what: SlotCount) => bigint) =>
  (scheme: SchemeFacilitator): SchemeFacilitator => ({
    ...scheme,
    nextSlot: (address, what) => Effect.map(scheme.nextSlot(address, what), (honest) => change(honest, what))
  })

/** Settles a payment, and tells how many seconds it took; each has a block at least. */
const settled = Effect.fnUntraced(function* ({ facilitator }: LedgerShop.Shop, name: string) {
  let seconds = 0
  const settling = yield* Effect.forkDetach(facilitator.settle(yield* pay(), claim(name)))
  while (seconds < 55 && settling.pollUnsafe() === undefined) {
    yield* TestClock.adjust("1 second")
    seconds++
  }
  assert.include(yield* Fiber.join(settling), { status: "included", execution: "granted" })
  return seconds
})

describe("a gap in a signer's numbers", () => {
  it.effect("that a reorganisation makes heals within ten blocks, with a payment behind it", () =>
    Effect.gen(function* () {
      const shop = yield* LedgerShop.open(patient)
      const { ledger, store } = shop
      yield* settled(shop, "first")
      for (let count = 0; count < 3; count++) ledger.useSlot("signer-1")
      yield* settled(shop, "moves the lane on")
      ledger.reorganise(Number(ledger.head().number) - 2)
      assert.isAtMost(yield* settled(shop, "behind the gap"), 10)
      assert.isAtMost(noops(ledger).size, 3)
      yield* TestClock.adjust("60 seconds")
      assert.deepStrictEqual(
        (yield* store.page(0n, 10)).map(({ status }) => status),
        Array(3).fill("final")
      )
      assert.deepStrictEqual(yield* store.openTransactions(lane), [])
    })
  )

  it.effect("that a node's wrong count makes heals too, without any payment", () =>
    Effect.gen(function* () {
      let lie = 5n
      const shop = yield* LedgerShop.open({ ...patient, scheme: counting((honest) => honest + lie) })
      yield* TestClock.adjust("1 second")
      lie = 0n
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(noops(shop.ledger), new Set([0n, 1n, 2n, 3n, 4n]))
      assert.isAtMost(yield* settled(shop, "after it"), 2)
    })
  )

  it.effect(
    "cannot be made so large that it is never filled: a count is believed as far as final blocks show it, and 64 more",
    () =>
      Effect.gen(function* () {
        let lie = 2n ** 53n
        const shop = yield* LedgerShop.open({
          ...patient,
          scheme: counting((honest, what) => (what === "final" ? honest : honest + lie))
        })
        yield* TestClock.adjust("1 second")
        lie = 0n
        yield* TestClock.adjust("60 seconds")
        assert.strictEqual(noops(shop.ledger).size, 64)
        assert.isAtMost(yield* settled(shop, "after it"), 2)
      })
  )

  /** One that a deep reorganisation has made of a closed transaction: no noop for it arrives, and a payment waits behind it. */
  const reopened = Effect.gen(function* () {
    const sent: Array<PreparedTransaction> = []
    const signed: Array<bigint | undefined> = []
    const node = { losesNoops: true }
    const shop = yield* LedgerShop.open({
      ...patient,
      scheme: (scheme) => ({
        ...scheme,
        prepare: (payments, slot, ...rest) => {
          signed.push(slot?.number)
          return scheme.prepare(payments, slot, ...rest)
        },
        submit: (prepared) => {
          sent.push(prepared)
          const isLost = node.losesNoops && prepared.slot?.number === 0n && sent.length > 1
          return isLost ? Effect.succeed({ _tag: "Accepted" }) : scheme.submit(prepared)
        }
      })
    })
    const { facilitator, ledger, store } = shop
    yield* settled(shop, "first")
    yield* TestClock.adjust("15 seconds")
    assert.deepStrictEqual(yield* store.openTransactions(lane), [])
    ledger.reorganise(Number(ledger.head().number) - 1)
    const behind = yield* Effect.forkDetach(facilitator.settle(yield* pay(), claim("behind")))
    yield* TestClock.adjust("12 seconds")
    const [bytes] = sent
    assert.isDefined(bytes)
    return { ...shop, behind, bytes, node, signed }
  })

  it.effect("of a closed transaction is watched for that one's own bytes too", () =>
    Effect.gen(function* () {
      const { behind, bytes, ledger, node, scheme, store } = yield* reopened
      const [open] = yield* store.openTransactions(lane)
      assert.deepStrictEqual([open?.number, open?.attempts[0], open?.payments.length], [0n, bytes, 1])
      node.losesNoops = false
      yield* scheme.submit(bytes)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* store.openTransactions(lane))[0]?.inclusion?.transaction, bytes.transaction)
      assert.strictEqual((yield* Fiber.join(behind)).execution, "granted")
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(yield* store.openTransactions(lane), [])
      assert.strictEqual(ledger.transfers.length, 2)
    })
  )

  it.effect("of a closed transaction takes noops alone, after a restart too", () =>
    Effect.gen(function* () {
      const { behind, ledger, node, restartWith, scheme, signed } = yield* reopened
      ledger.market.base = 60n
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.interrupt(behind)
      yield* restartWith([scheme])
      ledger.market.base = 200n
      yield* TestClock.adjust("10 seconds")
      node.losesNoops = false
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(
        signed.filter((number) => number === 0n),
        [0n]
      )
      assert.deepStrictEqual(noops(ledger), new Set([0n]))
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("is left by many transactions of another program, which are there: nothing is signed for them", () =>
    Effect.gen(function* () {
      const shop = yield* LedgerShop.open(patient)
      const { ledger } = shop
      yield* settled(shop, "first")
      for (let count = 0; count < 150; count++) ledger.useSlot("signer-1")
      yield* settled(shop, "second")
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual(noops(ledger).size, 0)
      assert.strictEqual(ledger.transfers.length, 2)
    })
  )

  it.effect("is none while a node is behind its fellows", () =>
    Effect.gen(function* () {
      let behind = 0n
      const shop = yield* LedgerShop.open({
        ...patient,
        scheme: counting((honest, what) => (what === "final" ? honest : honest - behind))
      })
      const { ledger } = shop
      for (let count = 0; count < 3; count++) ledger.useSlot("signer-1")
      yield* settled(shop, "first")
      yield* TestClock.adjust("30 seconds")
      behind = 2n
      ledger.faults.holdBlocks = true
      const waiting = yield* Effect.forkDetach(shop.facilitator.settle(yield* pay(), claim("second")))
      yield* TestClock.adjust("20 seconds")
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual((yield* Fiber.join(waiting)).execution, "granted")
      assert.strictEqual(noops(ledger).size, 0)
    })
  )

  it.effect("is filled for no more than the ceiling of gas allows, however often a node counts wrongly", () =>
    Effect.gen(function* () {
      let lie = 40n
      const shop = yield* LedgerShop.open({
        ...patient,
        gasCeilings: { total: () => 4_000n },
        scheme: counting((honest) => honest + lie)
      })
      yield* TestClock.adjust("1 second")
      lie = 0n
      yield* TestClock.adjust("5 minutes")
      const { ledger } = shop
      const spent = ledger.submissions.reduce((sum, { id }) => sum + (ledger.receipt(id)?.cost ?? 0n), 0n)
      assert.isTrue(spent > 2_000n && spent <= 4_000n, `${spent}`)
      assert.isBelow(noops(ledger).size, 40)
    })
  )

  it.effect("left by a chain that was begun anew is not filled when it is large, and is told", () =>
    Effect.gen(function* () {
      let older = 500n
      const shop = yield* LedgerShop.open({ ...patient, scheme: counting((honest) => honest + older) })
      yield* TestClock.adjust("1 second")
      older = 0n
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual(shop.ledger.submissions.length, 0)
    })
  )

  it.effect("costs a handful of questions: none when all numbers are known to be used", () =>
    Effect.gen(function* () {
      let asked = 0
      const shop = yield* LedgerShop.open({ ...patient, scheme: counting((honest) => (asked++, honest)) })
      yield* settled(shop, "first")
      yield* TestClock.adjust("60 seconds")
      asked = 0
      yield* TestClock.adjust("10 minutes")
      yield* settled(shop, "second")
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(asked, 0)
    })
  )
})
