import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"

import { assert, describe, it } from "@effect/vitest"
import { PaymentJournal, type Settlement, x402v1Payer, x402v2Payer } from "@pontage/core"

import { settlementOf } from "../src/index.ts"
import * as TestPayer from "./TestPayer.ts"
import * as X402FacilitatorShop from "./X402Shop.ts"

const payer = "0x4444444444444444444444444444444444444444"

/** Calls one after another; what each came to. */
const calls = async (count: number, call: () => Promise<Response>): Promise<ReadonlyArray<unknown>> => {
  const outcomes: Array<unknown> = []
  await Array.from({ length: count }).reduce<Promise<void>>(async (before) => {
    await before
    const outcome = await call().then(
      ({ status }) => status,
      (error: { readonly _tag: string; readonly reason?: string }) => error.reason ?? error._tag
    )
    outcomes.push(outcome)
  }, Promise.resolve())
  return outcomes
}

describe.each([1, 2] as const)("a shop of x402 version %i", (version) => {
  it("is paid through the same wrapped fetch, once", async () => {
    await using shop = await X402FacilitatorShop.open(version)
    const receipts: Array<Settlement.Settlement> = []
    const { fetch, signed } = TestPayer.make({ onPayment: (receipt) => void receipts.push(receipt) })
    const response = await fetch(`${shop.origin}/report`)
    assert.strictEqual(response.status, 200)
    assert.strictEqual(await response.text(), "the report")
    assert.strictEqual(signed.length, 1)
    assert.strictEqual(shop.transfers.size, 1)
    const [receipt] = receipts
    assert.include(receipt, { payer, amount: "10000", network: "eip155:8453" })
    assert.deepInclude(receipt, { ...settlementOf(response) })
    const { entry } = await fetch.status(receipt?.paymentId ?? "")
    assert.strictEqual(entry?.state, "settled")
  })

  it("is paid for each call that is a purchase of its own", async () => {
    await using shop = await X402FacilitatorShop.open(version)
    const { fetch, signed } = TestPayer.make()
    const outcomes = await calls(3, () => fetch(shop.origin, { method: "POST", body: "question" }))
    assert.deepStrictEqual(outcomes, [200, 200, 200])
    assert.strictEqual(signed.length, 3)
    assert.strictEqual(shop.transfers.size, 3)
  })

  it("that settles and then drops the connection is paid once, however often its caller asks again", async () => {
    let drops = 1
    const selling = X402FacilitatorShop.selling(version)
    await using shop = await X402FacilitatorShop.open(version, (response, settle) => {
      if (drops-- <= 0) return selling(response, settle)
      settle()
      response.destroy()
    })
    const { fetch, signed } = TestPayer.make()
    assert.deepStrictEqual(await calls(4, () => fetch(shop.origin)), Array(4).fill("already_used"))
    assert.strictEqual(signed.length, 1)
    assert.strictEqual(shop.transfers.size, 1)
    assert.strictEqual(new Set(shop.payments).size, 1)
  })

  it("that does not know a used payment from a failed one keeps its caller waiting, and is paid once", async () => {
    let drops = 1
    const selling = X402FacilitatorShop.selling(version, "unexpected_settle_error")
    await using shop = await X402FacilitatorShop.open(version, (response, settle) => {
      if (drops-- <= 0) return selling(response, settle)
      settle()
      response.destroy()
    })
    const { fetch, signed } = TestPayer.make()
    assert.deepStrictEqual(await calls(4, () => fetch(shop.origin)), Array(4).fill("SettlementPending"))
    assert.strictEqual(signed.length, 1)
    assert.strictEqual(shop.transfers.size, 1)
  })

  it("that drops the connection before it settles is paid by the same payment", async () => {
    let drops = 2
    const selling = X402FacilitatorShop.selling(version)
    await using shop = await X402FacilitatorShop.open(version, (response, settle) =>
      drops-- > 0 ? void response.destroy() : selling(response, settle)
    )
    const { fetch, signed } = TestPayer.make()
    assert.strictEqual((await fetch(shop.origin)).status, 200)
    assert.strictEqual(signed.length, 1)
    assert.strictEqual(shop.transfers.size, 1)
    assert.isAtLeast(shop.payments.length, 3)
  })

  it("whose facilitator is not there is sent the same payment when it is again", async () => {
    const troubles = ["settlement_pending", "fetch failed"]
    const selling = X402FacilitatorShop.selling(version)
    await using shop = await X402FacilitatorShop.open(version, (response, settle) => {
      const word = troubles.pop()
      if (word === undefined) selling(response, settle)
      else X402FacilitatorShop.demand(version, response, word)
    })
    const { fetch, signed } = TestPayer.make()
    assert.strictEqual((await fetch(shop.origin)).status, 200)
    assert.strictEqual(signed.length, 1)
    assert.strictEqual(new Set(shop.payments).size, 1)
  })

  it.each([500, 502, 503, 504])(
    "that answers %i has its response handed over, and the next call pays nothing more",
    async (status) => {
      let failures = 1
      const selling = X402FacilitatorShop.selling(version)
      await using shop = await X402FacilitatorShop.open(version, (response, settle) => {
        if (failures-- <= 0) return selling(response, settle)
        response.writeHead(status, { "content-type": "application/json" }).end('{"error":"bad gateway"}')
      })
      const { fetch, signed } = TestPayer.make()
      const first = await fetch(shop.origin)
      assert.strictEqual(first.status, status)
      assert.strictEqual(await first.text(), '{"error":"bad gateway"}')
      assert.strictEqual((await fetch(shop.origin)).status, 200)
      assert.strictEqual(signed.length, 1)
      assert.strictEqual(shop.transfers.size, 1)
    }
  )

  it("is sent by a new client what an old one left in the journal, byte for byte", async () => {
    let drops = 40
    const selling = X402FacilitatorShop.selling(version)
    await using shop = await X402FacilitatorShop.open(version, (response, settle) =>
      drops-- > 0 ? void response.destroy() : selling(response, settle)
    )
    const journal = PaymentJournal.make(PaymentJournal.memoryLog())
    const old = TestPayer.make({ journal })
    assert.include(await TestPayer.rejection(old.fetch(shop.origin)), { _tag: "SettlementPending" })
    drops = 0
    const young = TestPayer.make({ journal })
    assert.strictEqual((await young.fetch(shop.origin)).status, 200)
    assert.strictEqual(young.signed.length, 0)
    assert.strictEqual(new Set(shop.payments).size, 1)
    assert.strictEqual(shop.transfers.size, 1)
  })

  it("is quoted, and paid nothing above the limit", async () => {
    await using shop = await X402FacilitatorShop.open(version)
    const { fetch, signed } = TestPayer.make({ limits: { perRequest: "$0.009" } })
    const quotation = await fetch.quote(shop.origin)
    assert.deepStrictEqual(
      quotation?.declined.map(({ rule }) => rule),
      ["over_request_limit"]
    )
    assert.include(await TestPayer.rejection(fetch(shop.origin)), { rule: "over_request_limit" })
    assert.strictEqual(signed.length, 0)
    assert.strictEqual(shop.payments.length, 0)
  })

  it("is not paid where its dialect is not among the payer's", async () => {
    await using shop = await X402FacilitatorShop.open(version)
    const { fetch, signed } = TestPayer.make({ dialects: [version === 1 ? x402v2Payer : x402v1Payer] })
    const response = await fetch(shop.origin)
    assert.strictEqual(response.status, 402)
    assert.isFalse(response.bodyUsed)
    assert.strictEqual(signed.length, 0)
  })

  it("is left alone by HEAD, and by a caller that pays in a way of its own", async () => {
    await using shop = await X402FacilitatorShop.open(version)
    const { fetch, signed } = TestPayer.make()
    assert.strictEqual((await fetch(shop.origin, { method: "HEAD" })).status, 402)
    const headers = { [version === 1 ? "X-PAYMENT" : "PAYMENT-SIGNATURE"]: X402FacilitatorShop.base64({ payload: {} }) }
    assert.strictEqual((await fetch(shop.origin, { headers })).status, 402)
    assert.strictEqual(signed.length, 0)
  })
})

/** A server that answers everything so. */
const listening = async (answer: RequestListener) => {
  const server = createServer(answer)
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

describe("a 402 that demands nothing, on a socket,", () => {
  const json = { "content-type": "application/json" }

  it("reaches the caller whole, however long it is", async () => {
    const long = JSON.stringify({ x402Version: 1, error: "x".repeat(1_000_000), accepts: [] })
    await using server = await listening((_request, response) => void response.writeHead(402, json).end(long))
    const { fetch, signed } = TestPayer.make()
    const response = await fetch(server.origin)
    assert.strictEqual(response.status, 402)
    assert.strictEqual(await response.text(), long)
    assert.strictEqual(signed.length, 0)
  })

  it("that breaks off is the caller's to find out", async () => {
    await using server = await listening((_request, response) => {
      response.writeHead(402, { ...json, "content-length": "100" }).write('{"x402Version":1')
      setImmediate(() => response.destroy())
    })
    const { fetch } = TestPayer.make()
    const response = await fetch(server.origin)
    assert.strictEqual(response.status, 402)
    assert.instanceOf(await TestPayer.rejection(response.text()), Error)
  })
})
