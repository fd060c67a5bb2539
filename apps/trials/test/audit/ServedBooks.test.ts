import { assert, describe, it } from "@effect/vitest"

import * as ServedBooks from "../../src/audit/ServedBooks.ts"
import type { Life } from "../../src/world/FacilitatorLife.ts"
import * as PaidHeaders from "../../src/world/PaidHeaders.ts"
import type { ShopPurchase } from "../../src/world/ShopBuyers.ts"

const life = (began: number, listened: number | undefined, ended: number | undefined): Life => ({
  began,
  listened,
  ended,
  by: ended === undefined ? undefined : "SIGKILL"
})

/** Killed at 10, 32 and 40 seconds; the third life never listened. */
const lives = [
  life(0, 1_000, 10_000),
  life(10_000, 12_000, 32_000),
  life(32_000, undefined, 40_000),
  life(40_000, 42_000, undefined)
]

const bought = (changed: Partial<ShopPurchase> = {}): ShopPurchase => ({
  kind: "ours",
  key: "0xpayer,0x01",
  paidAt: 5_000,
  servedAt: 15_000,
  slowestMillis: 1_000,
  last: "served",
  ...changed
})

const chain = {
  transfers: [
    {
      transaction: "0xfeed",
      blockHash: "0xb10c",
      blockNumber: 1n,
      from: "0xPayer",
      to: "0xshop",
      value: 1_000n,
      nonce: "0x01",
      sender: "0xsigner"
    }
  ],
  transactions: [],
  standings: [],
  head: 1n
}

const other = bought({ kind: "x402", key: "0xpayer,0x02", paidAt: 13_000, servedAt: undefined, last: "409" })
const served = new Map([["0xpayer,0x01", 1]])
const checksOf = (evidence: Partial<ServedBooks.Evidence>) =>
  ServedBooks.findings({ purchases: [bought(), other], served, lives, chain, ...evidence }).map(({ check }) => check)

describe("the wait of a purchase that a death has hit", () => {
  it("begins when the facilitator listens again", () =>
    assert.deepStrictEqual(ServedBooks.waitOf(bought(), lives), { byTheClock: 3_000, listening: 3_000 }))

  it("does not count the time in which it was dead again", () =>
    assert.deepStrictEqual(ServedBooks.waitOf(bought({ servedAt: 45_000 }), lives), {
      byTheClock: 33_000,
      listening: 23_000
    }))

  it("is none where no death came between, or nothing was served", () => {
    assert.isUndefined(ServedBooks.waitOf(bought({ paidAt: 13_000 }), lives))
    assert.isUndefined(ServedBooks.waitOf(bought({ servedAt: undefined }), lives))
    assert.isUndefined(ServedBooks.waitOf(bought({ paidAt: undefined }), lives))
  })

  it("is nothing for who was served while it was dead still", () =>
    assert.deepStrictEqual(ServedBooks.waitOf(bought({ servedAt: 11_000 }), lives), { byTheClock: 0, listening: 0 }))
})

describe("a wrong book", () => {
  const x402 = bought({ kind: "x402", key: "0xpayer,0x02" })
  const both = { ...chain, transfers: chain.transfers.flatMap((one) => [one, { ...one, nonce: "0x02" }]) }

  it("is nothing where everybody who was charged was served", () =>
    assert.deepStrictEqual(checksOf({ purchases: [bought(), x402], chain: both }), []))

  it("is a kind of buyer that was never served", () => assert.deepStrictEqual(checksOf({}), ["none-served"]))

  it("is a payment that was charged and not served", () =>
    assert.deepStrictEqual(checksOf({ purchases: [bought(), x402, { ...other, kind: "ours" }], chain: both }), [
      "charged-unserved"
    ]))

  it("is goods without a payment", () =>
    assert.deepStrictEqual(checksOf({ purchases: [bought(), x402] }), ["served-unpaid"]))

  it("is a wait for a lease", () =>
    assert.deepStrictEqual(checksOf({ purchases: [bought({ servedAt: 58_000 }), x402], chain: both }), [
      "waited-for-a-lease"
    ]))

  it("is a response that the shop forgot", () =>
    assert.deepStrictEqual(checksOf({ purchases: [bought({ slowestMillis: 130_000 }), x402], chain: both }), [
      "shop-silent"
    ]))

  it("is one payment that bought twice", () =>
    assert.deepStrictEqual(
      checksOf({ purchases: [bought(), x402], chain: both, served: new Map([["0xpayer,0x01", 2]]) }),
      ["served-twice"]
    ))
})

const base64 = (json: unknown) => Buffer.from(JSON.stringify(json)).toString("base64")

const inHeaders = (headers: Readonly<Record<string, string>>) => PaidHeaders.paymentIn((name) => headers[name])

describe("the payment in a request's headers", () => {
  const authorization = { from: "0xPAYER", to: "0xSHOP", value: "1000", nonce: "0x0A", validAfter: "0" }
  const payment = { payer: "0xpayer", payTo: "0xshop", amount: 1_000n, nonce: "0x0a" }

  it("is read in both dialects", () => {
    const ours = JSON.stringify({ protocolVersion: 2, payload: base64({ signature: "0x", authorization }) })
    assert.deepStrictEqual(inHeaders({ "x-payment": ours }), payment)
    assert.deepStrictEqual(inHeaders({ "payment-signature": base64({ payload: { authorization } }) }), payment)
  })

  it("is none in a request that carries none, or nonsense", () => {
    assert.isUndefined(inHeaders({}))
    assert.isUndefined(inHeaders({ "x-payment": '{"payload":"!"}' }))
    assert.isUndefined(inHeaders({ "payment-signature": "{" }))
  })
})
