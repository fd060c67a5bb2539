/** The funds of a signer: they bound the size of a batch, and further payments wait for pending transactions. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import type { SchemeFacilitator } from "../../../src/scheme/SchemeFacilitator.ts"
import type { TestLedger } from "../../../src/testing/ledger/TestLedger.ts"
import * as LedgerShop from "../LedgerShop.ts"

const { endsOf, settleMany } = LedgerShop
const signer = "signer-1"

const all = (count: number) => Array.from({ length: count }, () => "Success")

/** The most that a transaction of this number of payments may cost. */
const costOf = ({ market: { base, priority } }: TestLedger, payments: number) =>
  (21n + 50n * BigInt(payments)) * (2n * base + priority)

/** The amount with which a transaction of this number of payments can be replaced by one that offers more. */
const enoughFor = (ledger: TestLedger, payments: number) => (costOf(ledger, payments) * 9n) / 8n + 1n

const sizes = ({ submissions }: TestLedger) => submissions.map(({ orders }) => orders.length)

/** Counts how often the scheme was asked what its signers own. */
const counting = (asked: { times: number }) => (scheme: SchemeFacilitator) => ({
  ...scheme,
  signers: Effect.suspend(() => {
    asked.times++
    return scheme.signers
  })
})

/** Notes what a node has said to transactions that it does not take. */
const noting =
  (refused: Array<string>) =>
  (scheme: SchemeFacilitator): SchemeFacilitator => ({
    ...scheme,
    submit: (prepared) =>
      Effect.tap(scheme.submit(prepared), (submission) =>
        Effect.sync(() => submission._tag === "Refused" && refused.push(submission.message))
      )
  })

const batches = { maximum: 20, windowMillis: 40 }

describe("a batch", () => {
  it.effect("leaves nothing counted that does not travel in it: its scheme is told what was signed in vain", () =>
    Effect.gen(function* () {
      const counted = new Set<string>()
      const { facilitator, ledger, store } = yield* LedgerShop.open({
        batches,
        gasCeilings: { total: () => 9_000n, caller: (name) => (name === "poor" ? 0n : undefined) },
        scheme: (scheme) => ({
          ...scheme,
          prepare: (payments, slot, chainHead, maximumCost, replaced) =>
            Effect.tap(scheme.prepare(payments, slot, chainHead, maximumCost, replaced), ({ count }) =>
              Effect.sync(() => {
                for (const { authorization } of payments.slice(0, count)) counted.add(authorization.nonce)
              })
            ),
          release: (payments) =>
            Effect.sync(() => {
              for (const { authorization } of payments) counted.delete(authorization.nonce)
            })
        })
      })
      ledger.setSignerBalance(signer, enoughFor(ledger, 5))
      ledger.faults.holdBlocks = true
      yield* settleMany(facilitator, 7)
      yield* LedgerShop.as("poor", settleMany(facilitator, 2, "poor"))
      yield* TestClock.adjust("2 seconds")
      const [onRecord, ...others] = yield* store.openTransactions(`ledger:test ${signer}`)
      assert.deepStrictEqual(others, [])
      const batched = onRecord?.payments.map(({ authorization }) => authorization.nonce) ?? []
      assert.isAbove(batched.length, 0)
      assert.deepStrictEqual(counted, new Set(batched))
    })
  )

  it.effect("is as large as its signer can pay for; the others follow when it is included", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ batches })
      ledger.setSignerBalance(signer, enoughFor(ledger, 5))
      ledger.faults.holdBlocks = true
      const fibers = yield* settleMany(facilitator, 7)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(sizes(ledger).slice(0, 1), [5])
      assert.deepStrictEqual(new Set(sizes(ledger)), new Set([5]))
      ledger.setSignerBalance(signer, costOf(ledger, 12))
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* endsOf(fibers), all(7))
      assert.deepStrictEqual(sizes(ledger).at(-1), 2)
      assert.lengthOf(ledger.transfers, 7)
    })
  )

  it.effect("costs no more than the scheme lets a transaction cost", () =>
    Effect.gen(function* () {
      const price = 22n
      const { facilitator, ledger } = yield* LedgerShop.open({
        batches: { ...batches, maximumCost: (price * (21n + 50n * 3n) * 9n) / 8n + 1n }
      })
      assert.strictEqual(costOf(ledger, 3), price * (21n + 50n * 3n))
      const fibers = yield* settleMany(facilitator, 8)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* endsOf(fibers), all(8))
      assert.deepStrictEqual(sizes(ledger), [3, 3, 2])
    })
  )

  it.effect("of payments that no transaction may carry by its cost is one payment", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ batches: { ...batches, maximumCost: 1n } })
      const fibers = yield* settleMany(facilitator, 3)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* endsOf(fibers), all(3))
      assert.deepStrictEqual(sizes(ledger), [1, 1, 1])
    })
  )
})

describe("a batch whose gas has become dear", () => {
  const maximumCost = 22n * (21n + 50n * 20n)

  for (const [what, limit] of [
    ["its signer has", { signerBalance: maximumCost }],
    ["a node lets through", { maximumCost }],
    ["the ceiling of the network has room for", { ceiling: (maximumCost * 7n) / 6n }]
  ] as const) {
    it.effect(`is replaced by one that costs no more than ${what}, and lands`, () =>
      Effect.gen(function* () {
        const refused: Array<string> = []
        const { facilitator, ledger } = yield* LedgerShop.open({
          settleTimeoutMillis: 600_000,
          batches: { ...batches, ...("maximumCost" in limit && limit) },
          ...("ceiling" in limit && { gasCeilings: { total: () => limit.ceiling } }),
          scheme: noting(refused)
        })
        if ("signerBalance" in limit) ledger.setSignerBalance(signer, limit.signerBalance)
        const fibers = yield* settleMany(facilitator, 20)
        ledger.faults.holdBlocks = true
        yield* TestClock.adjust("1 second")
        const [first = 0] = sizes(ledger)
        assert.isTrue(first >= 15 && first <= 20, `${first}`)
        ledger.market.base = 24n
        for (let block = 0; block < 12; block++) {
          ledger.mine()
          yield* TestClock.adjust("2 seconds")
        }
        const costs = ledger.submissions.map(
          ({ fees, orders }) => (fees?.maximum ?? 0n) * (21n + 50n * BigInt(orders.length))
        )
        const most = "ceiling" in limit ? limit.ceiling : maximumCost
        for (const cost of costs) assert.isTrue(cost <= most, `${cost} of ${most}`)
        assert.isAbove(new Set(costs).size, 1)
        assert.deepStrictEqual(refused, [])
        ledger.setSignerBalance(signer, 10n ** 12n)
        ledger.faults.holdBlocks = false
        ledger.market.base = 10n
        yield* TestClock.adjust("20 seconds")
        assert.deepStrictEqual(yield* endsOf(fibers), all(20))
        assert.lengthOf(ledger.transfers, 20)
      })
    )
  }
})

describe("a batch that the ceiling of a network does not let through", () => {
  it.effect("is as large as the ceiling allows; only the others are turned away", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({
        batches,
        gasCeilings: { total: () => 22n * (21n + 50n * 4n) }
      })
      const fibers = yield* settleMany(facilitator, 10)
      yield* TestClock.adjust("5 seconds")
      const ends = yield* endsOf(fibers)
      assert.isAtLeast(ends.filter((end) => end === "Success").length, 4)
      assert.deepStrictEqual(sizes(ledger)[0], 4)
    })
  )
})

describe("a signer", () => {
  it.effect("that can pay for one transaction at a time sends one at a time, and none in vain", () =>
    Effect.gen(function* () {
      const refused: Array<string> = []
      const { facilitator, ledger } = yield* LedgerShop.open({
        scheme: noting(refused)
      })
      ledger.faults.holdBlocks = true
      const refill = () => ledger.setSignerBalance(signer, (costOf(ledger, 1) * 3n) / 2n)
      refill()
      const fibers = yield* settleMany(facilitator, 3)
      for (const sent of [1, 2, 3]) {
        yield* TestClock.adjust("3 seconds")
        assert.strictEqual(new Set(ledger.submissions.map(({ slot }) => slot)).size, sent)
        ledger.mine()
        refill()
      }
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(yield* endsOf(fibers), all(3))
      assert.deepStrictEqual(refused, [])
      assert.lengthOf(ledger.transfers, 3)
    })
  )

  it.effect("that is short has nothing examined twice for that", () =>
    Effect.gen(function* () {
      let examinations = 0
      const { facilitator, ledger } = yield* LedgerShop.open({
        batches,
        scheme: (scheme) => ({
          ...scheme,
          verify: (payment) => {
            examinations++
            return scheme.verify(payment)
          }
        })
      })
      ledger.faults.holdBlocks = true
      ledger.setSignerBalance(signer, enoughFor(ledger, 4))
      const fibers = yield* settleMany(facilitator, 16)
      for (let block = 0; block < 4; block++) {
        yield* TestClock.adjust("1100 millis")
        ledger.mine()
        ledger.setSignerBalance(signer, enoughFor(ledger, 4))
      }
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(yield* endsOf(fibers), all(16))
      assert.deepStrictEqual([...new Set(sizes(ledger))], [4])
      assert.strictEqual(examinations, 16)
    })
  )

  it.effect("is not asked again while what it had pays for all that was signed", () =>
    Effect.gen(function* () {
      const asked = { times: 0 }
      const { facilitator, ledger } = yield* LedgerShop.open({ batches, scheme: counting(asked) })
      for (const round of [1, 2, 3, 4]) {
        const fibers = yield* settleMany(facilitator, 5, `round ${round}, `)
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual(yield* endsOf(fibers), all(5))
      }
      assert.strictEqual(asked.times, 1)
      assert.lengthOf(ledger.transfers, 20)
    })
  )

  it.effect("is asked again when a node has refused it: its money may have been taken out", () =>
    Effect.gen(function* () {
      const asked = { times: 0 }
      const { facilitator, ledger } = yield* LedgerShop.open({ batches, scheme: counting(asked) })
      const first = yield* settleMany(facilitator, 5)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* endsOf(first), all(5))
      ledger.setSignerBalance(signer, 0n)
      const second = yield* settleMany(facilitator, 5, "second ")
      yield* TestClock.adjust("1 second")
      ledger.setSignerBalance(signer, enoughFor(ledger, 5))
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(yield* endsOf(second), all(5))
      ledger.setSignerBalance(signer, enoughFor(ledger, 2))
      const third = yield* settleMany(facilitator, 2, "third ")
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* endsOf(third), all(2))
      assert.strictEqual(asked.times, 2)
    })
  )

  it.effect("settles as before when its balance is unknown", () =>
    Effect.gen(function* () {
      const { facilitator, scheme, ledger } = yield* LedgerShop.open({
        batches,
        scheme: (one) => ({ ...one, signers: Effect.succeed([]) })
      })
      assert.deepStrictEqual(yield* scheme.signers, [])
      const fibers = yield* settleMany(facilitator, 7)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* endsOf(fibers), all(7))
      assert.deepStrictEqual(sizes(ledger), [7])
    })
  )
})
