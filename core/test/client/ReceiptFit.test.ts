import { assert, describe, it } from "@effect/vitest"

import type { JournalEntry } from "../../src/client/JournalEntry.ts"
import * as ReceiptFit from "../../src/client/ReceiptFit.ts"
import type { PurchaseReceipt, PurchaseStatement } from "../../src/wire/pontage/PurchaseReceipt.ts"

const payer = "0x857b06519E91e3A54538791bDbb0E22373e36b66"
const payTo = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
const asset = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
const entry: JournalEntry = {
  id: "1",
  state: "pending",
  request: "r",
  method: "GET",
  url: "https://shop.example/report?day=1#top",
  host: "shop.example",
  network: "eip155:8453",
  asset,
  payTo,
  amount: "10000",
  spendings: [],
  at: 0,
  validBefore: 0,
  paymentId: "pay_1",
  payer
}
const receipt = {
  success: true,
  transaction: "0x12",
  network: "eip155:8453",
  payer,
  amount: "10000",
  paymentId: "pay_1"
} as const
const statement: PurchaseStatement = {
  version: 1,
  method: "GET",
  resourceUrl: "https://shop.example/report?day=1",
  payer,
  payTo,
  network: "eip155:8453",
  asset,
  amount: "10000",
  transaction: "0x12",
  paymentId: "pay_1",
  issuedAt: 1,
  responseStatus: 0,
  responseSha256: ""
}
const signed = (change: Partial<PurchaseStatement> = {}): PurchaseReceipt => ({
  format: "pontage-eip712",
  payload: { ...statement, ...change },
  signature: "0x00"
})

describe("a signed receipt", () => {
  it("is one of the purchase whose fields it has, in any case of hexadecimal digits", () => {
    assert.isTrue(ReceiptFit.isFor(signed(), entry, receipt))
    assert.isTrue(ReceiptFit.isFor(signed({ asset: asset.toLowerCase() }), entry, receipt))
    assert.isTrue(ReceiptFit.isFor(signed(), { ...entry, method: "HEAD" }, receipt))
  })

  it.each([
    { method: "POST" },
    { resourceUrl: "https://shop.example/report?day=2" },
    { resourceUrl: "https://other.example/report?day=1" },
    { payer: payTo },
    { payTo: payer },
    { network: "eip155:1" },
    { asset: payTo },
    { amount: "1000" },
    { transaction: "0x13" },
    { paymentId: "pay_2" }
  ])("is none of it with %o", (change) => assert.isFalse(ReceiptFit.isFor(signed(change), entry, receipt)))

  it("of a tool names the tool, wherever its server is", () => {
    const called: JournalEntry = { ...entry, method: "tools/call get weather", url: "http://127.0.0.1:1/mcp" }
    const tool = { method: "tools/call", resourceUrl: "https://shop.example/tools/get%20weather" }
    assert.isTrue(ReceiptFit.isFor(signed(tool), called, receipt))
    assert.isFalse(
      ReceiptFit.isFor(signed({ ...tool, resourceUrl: "https://shop.example/tools/get" }), called, receipt)
    )
    assert.isFalse(ReceiptFit.isFor(signed({ method: "GET" }), called, receipt))
  })
})
