/** Reading a lane's transaction: whether its slot is open, whether its payments have ended, and what it may cost whom. */
import { assert, describe, it } from "@effect/vitest"

import * as TrackedTransaction from "../../../src/facilitator/lane/TrackedTransaction.ts"
import type { StoredPayment } from "../../../src/facilitator/store/PaymentStore.ts"
import type { PreparedTransaction } from "../../../src/scheme/SchemeFacilitator.ts"

type Status = StoredPayment["status"]

/** A record with the parts that a lane's transaction is read by. */
const stored = (status: Status, changed: Partial<StoredPayment> = {}): StoredPayment =>
  ({
    paymentId: "payment-1",
    status,
    caller: "shop",
    requirements: { scheme: "exact", network: "ledger:test" },
    authorization: { validBefore: 100 },
    history: [{ status: "accepted", at: 0 }],
    ...changed
  }) as unknown as StoredPayment

const batched = (status: Status, concluded = false): TrackedTransaction.BatchedPayment => ({
  stored: stored(status),
  payment: {} as never,
  concluded
})

const slotted: PreparedTransaction = {
  slot: { lane: "signer-1", number: 7n },
  transaction: "tx-1",
  bytes: "00",
  head: 10n,
  cost: 21n
}

const begun = (
  payments: ReadonlyArray<TrackedTransaction.BatchedPayment>,
  prepared: PreparedTransaction = slotted
): TrackedTransaction.TrackedTransaction => TrackedTransaction.begin(1n, prepared, payments, 5)

const remaining = (awaited: TrackedTransaction.RemainingWork["awaited"]) => {
  const lane = new Map<bigint, TrackedTransaction.TrackedTransaction>()
  return { lane, work: { transactions: lane, awaited } }
}

const inclusion = { transaction: "tx-1", block: { number: 11n, hash: "0x11" }, cost: 20n }

describe("a lane transaction's slot", () => {
  it("is open until a block has its transaction, whatever its payments' ends", () => {
    const transaction = begun([batched("expired", true)])
    assert.isTrue(TrackedTransaction.isSlotOpen(transaction))
    transaction.inclusion = inclusion
    assert.isFalse(TrackedTransaction.isSlotOpen(transaction))
  })

  it("is closed once another transaction has used it", () => {
    const transaction = begun([batched("sent")])
    transaction.displacedAt = 12n
    assert.isFalse(TrackedTransaction.isSlotOpen(transaction))
    assert.isTrue(TrackedTransaction.isUnresolved(transaction))
  })

  it("is as open as its payments where there is none, or where its signer is not configured any more", () => {
    for (const [status, isOpen] of [
      ["planned", true],
      ["sent", true],
      ["included", false],
      ["failed", false]
    ] as const) {
      const slotless = begun([batched(status)], { ...slotted, slot: undefined })
      assert.strictEqual(TrackedTransaction.isSlotOpen(slotless), isOpen, status)
      const orphaned = { ...begun([batched(status)]), orphaned: remaining(new Set()).work }
      assert.strictEqual(TrackedTransaction.isSlotOpen(orphaned), isOpen, status)
    }
  })

  it("stays open without its signer while a later payment of the lane may need it", () => {
    for (const [status, isOpen] of [
      ["sent", true],
      ["included", true],
      ["final", false],
      ["expired", false]
    ] as const) {
      const { lane, work } = remaining(new Set())
      const displaced = { ...begun([]), orphaned: work }
      const later = { ...begun([batched(status)]), number: 2n, orphaned: work }
      lane.set(displaced.number, displaced).set(later.number, later)
      assert.strictEqual(TrackedTransaction.isSlotOpen(displaced), isOpen, status)
      assert.strictEqual(TrackedTransaction.isSlotOpen(later), status === "sent", status)
      displaced.displacedAt = 12n
      assert.isFalse(TrackedTransaction.isSlotOpen(displaced))
    }
  })

  it("stays open without its signer for a payment that waits, in it or in a later one, or may wait", () => {
    for (const [awaited, isOpen] of [
      [new Set(["tx-1"]), true],
      [new Set(["tx-2"]), true],
      [new Set(["tx-0"]), false],
      [new Set<string>(), false],
      [undefined, true]
    ] as const) {
      const { lane, work } = remaining(awaited)
      const first = { ...begun([]), orphaned: work }
      const second = { ...begun([], { ...slotted, transaction: "tx-2" }), number: 2n, orphaned: work }
      const earlier = { ...begun([], { ...slotted, transaction: "tx-0" }), number: 0n, orphaned: work }
      for (const one of [earlier, first, second]) lane.set(one.number, one)
      assert.strictEqual(TrackedTransaction.isSlotOpen(first), isOpen)
      assert.strictEqual(TrackedTransaction.needsFinalSlot(first), isOpen)
      assert.isFalse(TrackedTransaction.needsFinalSlot({ ...first, inclusion }))
      assert.isFalse(TrackedTransaction.needsFinalSlot({ ...first, attempts: [{ ...slotted, slot: undefined }] }))
    }
  })
})

describe("a payment of a lane transaction", () => {
  it("is done when it is final or expired, and dead only after one more look at the chain", () => {
    const rows: ReadonlyArray<readonly [Status, boolean, boolean]> = [
      ["planned", false, false],
      ["sent", true, false],
      ["included", true, false],
      ["final", false, true],
      ["expired", false, true],
      ["failed", false, false],
      ["failed", true, true]
    ]
    for (const [status, concluded, isDone] of rows)
      assert.strictEqual(TrackedTransaction.isDone(batched(status, concluded)), isDone, `${status} ${concluded}`)
  })

  it("takes over its changed record, and leaves the transaction when its record waits again", () => {
    const transaction = begun([batched("sent"), { ...batched("sent"), stored: stored("sent", { paymentId: "other" }) }])
    transaction.unreadable = [stored("sent", { paymentId: "unreadable" })]
    TrackedTransaction.update(transaction, [
      stored("accepted"),
      stored("included", { paymentId: "other" }),
      stored("expired", { paymentId: "unreadable" })
    ])
    assert.deepStrictEqual(
      transaction.payments.map((one) => [one.stored.paymentId, one.stored.status]),
      [["other", "included"]]
    )
    assert.deepStrictEqual(
      transaction.unreadable.map(({ status }) => status),
      ["expired"]
    )
  })
})

describe("a lane transaction", () => {
  it("costs what its last bytes may cost, for the callers of all its payments, readable or not", () => {
    const transaction = begun([batched("sent")])
    transaction.attempts = [slotted, { ...slotted, transaction: "tx-2", cost: 34n }]
    const requirements = { ...stored("sent").requirements, extra: { delivers: "pay_of_a_shop" } }
    transaction.unreadable = [
      stored("sent", { paymentId: "unreadable", caller: "other shop" }),
      stored("sent", { paymentId: "delivery", caller: "third shop", requirements })
    ]
    assert.deepStrictEqual(TrackedTransaction.expenseOf(transaction), {
      cost: 34n,
      callers: ["shop", "other shop", "third shop"],
      held: ["shop", "other shop"]
    })
  })

  it("is valid as long as the longest of its payments, readable or not", () => {
    const transaction = begun([batched("sent")])
    assert.strictEqual(TrackedTransaction.validBefore(transaction), 100)
    const authorization = { ...stored("sent").authorization, validBefore: 300 }
    transaction.unreadable = [stored("sent", { authorization })]
    assert.strictEqual(TrackedTransaction.validBefore(transaction), 300)
  })

  it("is empty only without any payment", () => {
    const transaction = begun([])
    assert.isTrue(TrackedTransaction.isEmpty(transaction))
    transaction.unreadable = [stored("sent")]
    assert.isFalse(TrackedTransaction.isEmpty(transaction))
  })

  it("has bytes to send, or its reader stops", () => {
    assert.strictEqual(TrackedTransaction.lastAttempt(begun([])), slotted)
    assert.throws(() => TrackedTransaction.lastAttempt({ ...begun([]), attempts: [] }), "has no signed bytes")
  })
})
