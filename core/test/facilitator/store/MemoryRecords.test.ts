import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as MemoryRecords from "../../../src/facilitator/store/MemoryRecords.ts"
import * as PaymentChange from "../../../src/facilitator/store/PaymentChange.ts"
import type { StoredPayment } from "../../../src/facilitator/store/PaymentStore.ts"
import * as PaymentStoreTrial from "../../../src/testing/store/PaymentStoreTrial.ts"

/** A record of a new payment with these fields, put down. */
const put = Effect.fnUntraced(function* (
  records: MemoryRecords.MemoryRecords,
  wish: PaymentStoreTrial.Wish = {},
  fields: Partial<StoredPayment> = {}
) {
  const payment = yield* PaymentStoreTrial.newPayment(wish)
  const stored = { ...PaymentChange.created(payment, undefined, records.nextSerial(), "ledger:test one", 0), ...fields }
  records.put(stored)
  return stored
})

/** The time after which a record of a payment that is valid for a minute is no longer kept, in milliseconds. */
const old = 60_000 + MemoryRecords.retentionMillis + 1

const isNeeded = ({ answerOwed, status }: StoredPayment) => status === "final" && answerOwed

describe("the records of a memory store", () => {
  it.effect("are found by id, in the order of their serials", () =>
    Effect.gen(function* () {
      const records = MemoryRecords.make()
      const first = yield* put(records)
      const second = yield* put(records)
      assert.strictEqual(records.find(first.paymentId), first)
      assert.strictEqual(records.find("pay_unknown"), undefined)
      assert.deepStrictEqual([...records.all()], [first, second])
      assert.deepStrictEqual([first.serial, second.serial, records.lastSerial()], [1n, 2n, 2n])
    })
  )

  it.effect("count for their payer alone while they are open", () =>
    Effect.gen(function* () {
      const records = MemoryRecords.make()
      const open = yield* put(records, { payer: "acct-a", amount: 30n })
      yield* put(records, { payer: "acct-b", amount: 500n })
      yield* put(records, { payer: "acct-a", amount: 7n }, { status: "final" })
      yield* put(records, { payer: "acct-a", amount: 9n }, { status: "rejected" })
      const next = yield* PaymentStoreTrial.newPayment({ payer: "acct-a" })
      assert.deepStrictEqual([...records.openPayments(next).amounts], [[open.paymentId, 30n]])
      assert.strictEqual(records.reservedBy(next, undefined, 0), 30n)
    })
  )

  it.effect("count on if they have ended since the open ones were read, known then or not", () =>
    Effect.gen(function* () {
      const records = MemoryRecords.make()
      const known = yield* put(records, { payer: "acct-a", amount: 30n })
      const next = yield* PaymentStoreTrial.newPayment({ payer: "acct-a" })
      const beside = records.openPayments(next)
      const late = yield* put(records, { payer: "acct-a", amount: 4n })
      yield* put(records, { payer: "acct-b", amount: 500n }, { status: "included" })
      records.put({ ...known, status: "included" })
      records.put({ ...late, status: "included" })
      assert.strictEqual(records.reservedBy(next, beside, 0), 34n)
      assert.strictEqual(records.reservedBy(next, records.openPayments(next), 0), 0n)
    })
  )

  it.effect("are swept when they are old and over, also behind one that is still needed", () =>
    Effect.gen(function* () {
      const records = MemoryRecords.make()
      const kept = [
        yield* put(records),
        yield* put(records, {}, { status: "sent" }),
        yield* put(records, {}, { status: "final", answerOwed: true })
      ]
      const over = [yield* put(records, {}, { status: "final" }), yield* put(records, {}, { status: "expired" })]
      for (const one of over) records.put({ ...one, answerOwed: false })
      for (let round = 0; round < 3; round++) records.sweep(old - 1, isNeeded)
      assert.strictEqual([...records.all()].length, 5)
      for (let round = 0; round < 5; round++) records.sweep(old, isNeeded)
      assert.deepStrictEqual([...records.all()], kept)
    })
  )

  it.effect("are dropped a few at a time", () =>
    Effect.gen(function* () {
      const records = MemoryRecords.make()
      for (let one = 0; one < 10; one++) yield* put(records, {}, { status: "final" })
      records.sweep(old, () => false)
      assert.strictEqual([...records.all()].length, 8)
    })
  )
})

describe("the first of many", () => {
  it("are as many as wanted, or all", () => {
    assert.deepStrictEqual([...MemoryRecords.firstOf([1, 2, 3], 2)], [1, 2])
    assert.deepStrictEqual([...MemoryRecords.firstOf([1, 2, 3], 9)], [1, 2, 3])
    assert.deepStrictEqual([...MemoryRecords.firstOf([1, 2, 3], 0)], [])
  })
})
