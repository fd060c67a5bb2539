import { assert, describe, it } from "@effect/vitest"

import * as TestLedger from "../../../src/testing/ledger/TestLedger.ts"

const lane = "signer-1"

const order = (nonce: string, more: Partial<TestLedger.LedgerOrder> = {}): TestLedger.LedgerOrder => ({
  payer: "acct-alice",
  payTo: "acct-shop",
  amount: 10n,
  nonce,
  validAfter: 0,
  validBefore: 2_000,
  ...more
})

const transaction = (
  id: string,
  slot: bigint | undefined,
  more: Partial<TestLedger.LedgerTransaction> = {}
): TestLedger.LedgerTransaction => ({
  id,
  lane,
  slot,
  orders: [order(id)],
  fees: { maximum: 100n, priority: 10n },
  ...more
})

const open = () => {
  const ledger = TestLedger.make()
  ledger.deposit("acct-alice", 1_000n)
  ledger.tick(1_000)
  return ledger
}

describe("slots", () => {
  it("are used in order, and what comes early waits", () => {
    const ledger = open()
    assert.strictEqual(ledger.submit(transaction("second", 1n)), "accepted")
    assert.strictEqual(ledger.transfers.length, 0)
    assert.deepStrictEqual([ledger.nextSlot(lane), ledger.nextSlot(lane, "included")], [0n, 0n])
    assert.strictEqual(ledger.submit(transaction("first", 0n)), "accepted")
    assert.deepStrictEqual(
      ledger.transfers.map(({ nonce }) => nonce),
      ["first", "second"]
    )
    assert.strictEqual(ledger.submit(transaction("late", 0n)), "slotUsed")
    assert.strictEqual(ledger.submit(transaction("first", 0n)), "slotUsed")
  })

  it("count the pool when asked to", () => {
    const ledger = open()
    ledger.faults.holdBlocks = true
    ledger.submit(transaction("first", 0n))
    ledger.submit(transaction("third", 2n))
    assert.deepStrictEqual([ledger.nextSlot(lane, "known"), ledger.nextSlot(lane, "included")], [1n, 0n])
  })

  it("are lost to a stranger with the same key, with what waited in them", () => {
    const ledger = open()
    ledger.faults.holdBlocks = true
    ledger.submit(transaction("first", 0n))
    ledger.useSlot(lane)
    ledger.mine()
    assert.strictEqual(ledger.receipt("first"), undefined)
    assert.strictEqual(ledger.nextSlot(lane, "included"), 1n)
  })

  it("are not asked of a transaction that has none", () => {
    const ledger = open()
    ledger.submit(transaction("free", undefined))
    ledger.submit(transaction("freer", undefined))
    assert.strictEqual(ledger.transfers.length, 2)
  })
})

describe("fees", () => {
  it("let a dearer transaction take another's place, and no other", () => {
    const ledger = open()
    ledger.faults.holdBlocks = true
    ledger.submit(transaction("first", 0n))
    const cheap = transaction("cheap", 0n, { fees: { maximum: 109n, priority: 20n } })
    assert.deepStrictEqual(ledger.submit(cheap), { outdated: "replacement underpriced" })
    assert.strictEqual(ledger.submit(transaction("dear", 0n, { fees: { maximum: 110n, priority: 11n } })), "accepted")
    ledger.mine()
    assert.strictEqual(ledger.receipt("first"), undefined)
    assert.isDefined(ledger.receipt("dear"))
  })

  it("keep what offers too little out of the pool, and in the pool", () => {
    const ledger = open()
    ledger.faults.holdBlocks = true
    ledger.submit(transaction("first", 0n))
    ledger.market.base = 101n
    ledger.mine()
    assert.strictEqual(ledger.receipt("first"), undefined)
    assert.deepStrictEqual(ledger.submit(transaction("second", 1n)), { outdated: "the fee is below the base fee 101" })
    ledger.market.base = 100n
    ledger.mine()
    assert.strictEqual(ledger.receipt("first")?.cost, 71n * 100n)
  })

  it("cost the signer no more than the base and what it offers beside it", () => {
    const ledger = open()
    const before = ledger.signerBalanceOf(lane)
    ledger.submit(transaction("first", 0n))
    assert.strictEqual(before - ledger.signerBalanceOf(lane), 71n * 20n)
    assert.strictEqual(ledger.receipt("first")?.cost, 71n * 20n)
  })

  it("cannot be promised by who has not the money", () => {
    const ledger = open()
    ledger.setSignerBalance(lane, 7_099n)
    assert.deepStrictEqual(ledger.submit(transaction("first", 0n)), {
      refused: "insufficient funds for gas: 7099 of 7100"
    })
    ledger.setSignerBalance(lane, 7_100n)
    assert.strictEqual(ledger.submit(transaction("first", 0n)), "accepted")
  })
})

describe("transfers", () => {
  it("of one transaction happen or do not each by itself, and an authorization once", () => {
    const ledger = open()
    const orders = [order("a"), order("b", { amount: 2_000n }), order("a"), order("c")]
    ledger.submit(transaction("batch", 0n, { orders }))
    assert.deepStrictEqual(ledger.receipt("batch")?.paid, [true, false, false, true])
    assert.strictEqual(ledger.balanceOf("acct-shop"), 20n)
  })

  it("happen in the time they were signed for", () => {
    const ledger = open()
    const orders = [
      order("early", { validAfter: 1_000 }),
      order("in time", { validAfter: 999, validBefore: 1_001 }),
      order("late", { validBefore: 1_000 })
    ]
    ledger.submit(transaction("batch", 0n, { orders }))
    assert.deepStrictEqual(ledger.receipt("batch")?.paid, [false, true, false])
  })

  it("fail when a test wants them to", () => {
    const ledger = open()
    ledger.faults.failEntries = 1
    ledger.submit(transaction("batch", 0n, { orders: [order("a"), order("b")] }))
    assert.deepStrictEqual(ledger.receipt("batch")?.paid, [false, true])
  })

  it("can be submitted or burnt by others", () => {
    const ledger = open()
    ledger.settleByStranger(order("a"))
    ledger.burn(order("b"))
    assert.strictEqual(ledger.useOf(order("a"))?.paid, true)
    assert.strictEqual(ledger.useOf(order("b"))?.paid, false)
    assert.strictEqual(ledger.balanceOf("acct-shop"), 10n)
  })
})

describe("blocks", () => {
  it("come with time, one a second, and become final under others", () => {
    const ledger = open()
    const { number } = ledger.head()
    ledger.tick(1_003)
    assert.deepStrictEqual([ledger.head().number, ledger.head().time], [number + 3n, 1_003])
    assert.strictEqual(ledger.final().number, number + 3n - 8n)
    ledger.finality = 0
    assert.strictEqual(ledger.final().number, number + 3n)
    ledger.tick(1_000)
    assert.strictEqual(ledger.head().number, number + 3n)
  })

  it("are held back when a test wants them to, and then come of its hand", () => {
    const ledger = open()
    ledger.faults.holdBlocks = true
    const { number } = ledger.head()
    ledger.tick(1_009)
    assert.strictEqual(ledger.head().number, number)
    ledger.mine()
    assert.deepStrictEqual([ledger.head().number, ledger.head().time], [number + 1n, 1_009])
  })

  it("that are reorganised have never been", () => {
    const ledger = open()
    ledger.submit(transaction("first", 0n))
    const gas = ledger.signerBalanceOf(lane)
    const kept = ledger.head()
    ledger.submit(transaction("second", 1n))
    ledger.settleByStranger(order("a"))
    ledger.burn(order("b"))
    ledger.useSlot(lane)
    const dropped = ledger.head()
    ledger.reorganise(4)
    assert.strictEqual(ledger.isCanonical(kept), true)
    assert.strictEqual(ledger.isCanonical(dropped), false)
    assert.strictEqual(ledger.head().number, dropped.number)
    assert.strictEqual(ledger.isCanonical(ledger.head()), true)
    assert.deepStrictEqual(
      ledger.transfers.map(({ nonce }) => nonce),
      ["first"]
    )
    assert.strictEqual(ledger.receipt("second"), undefined)
    assert.strictEqual(ledger.useOf(order("b")), undefined)
    assert.strictEqual(ledger.balanceOf("acct-shop"), 10n)
    assert.strictEqual(ledger.signerBalanceOf(lane), gas)
    assert.strictEqual(ledger.nextSlot(lane, "included"), 1n)
    assert.strictEqual(ledger.submit(transaction("second", 1n)), "accepted")
    assert.strictEqual(ledger.transfers.length, 2)
  })
})

describe("a node on a bad day", () => {
  it("takes a transaction and does not say so", () => {
    const ledger = open()
    ledger.faults.loseAnswers = true
    assert.strictEqual(ledger.submit(transaction("first", 0n)), undefined)
    assert.strictEqual(ledger.transfers.length, 1)
  })

  it("never hears of it", () => {
    const ledger = open()
    ledger.faults.dropNext = 1
    assert.strictEqual(ledger.submit(transaction("first", 0n)), undefined)
    assert.strictEqual(ledger.submissions.length, 0)
    assert.strictEqual(ledger.submit(transaction("first", 0n)), "accepted")
  })

  it("takes nothing new, whatever it calls it, and knows what it has", () => {
    const ledger = open()
    ledger.faults.holdBlocks = true
    ledger.submit(transaction("known", 0n))
    ledger.faults.feignUsedSlots = true
    assert.strictEqual(ledger.submit(transaction("new", 1n)), "slotUsed")
    ledger.faults.outdated = "too old"
    assert.deepStrictEqual(ledger.submit(transaction("new", 1n)), { outdated: "too old" })
    ledger.faults.refusal = "no gas"
    assert.deepStrictEqual(ledger.submit(transaction("new", 1n)), { refused: "no gas" })
    assert.strictEqual(ledger.submit(transaction("known", 0n)), "accepted")
  })

  it("forgets what waits", () => {
    const ledger = open()
    ledger.faults.holdBlocks = true
    ledger.submit(transaction("first", 0n))
    ledger.emptyPool()
    ledger.mine()
    assert.strictEqual(ledger.receipt("first"), undefined)
    assert.strictEqual(ledger.nextSlot(lane), 0n)
  })
})
