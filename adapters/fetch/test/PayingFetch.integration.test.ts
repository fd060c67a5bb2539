import { once } from "node:events"

import { assert, describe, it, vi } from "@effect/vitest"

import { facilitatorLookup, settlementOf, wrapFetch, type PayingFetchOptions } from "../src/index.ts"
import * as PaidShop from "./PaidShop.ts"
import * as TestPayer from "./TestPayer.ts"

describe("wrapFetch", () => {
  it("pays the price that the shop demands, and returns the response with its receipt", async () => {
    await using shop = await PaidShop.open()
    const receipts: Array<string> = []
    const { fetch, signed } = TestPayer.make({ onPayment: ({ transaction }) => void receipts.push(transaction) })
    const response = await fetch(`${shop.origin}/report?day=1`)
    assert.strictEqual(response.status, 200)
    assert.include(await response.text(), '"url":"/report?day=1"')
    assert.deepStrictEqual(settlementOf(response), PaidShop.receipt)
    assert.strictEqual(signed.length, 1)
    assert.strictEqual(shop.arrivals.length, 2)
    assert.deepStrictEqual(receipts, ["0xabc"])
  })

  it("works on the clock and the fetch of this machine", async () => {
    await using shop = await PaidShop.open()
    const { schemeClient } = TestPayer.wallet()
    const fetch = wrapFetch(globalThis.fetch, { schemes: [schemeClient] })
    assert.strictEqual((await fetch(`${shop.origin}/`)).status, 200)
  })

  it("passes what is free through untouched: one request, one look, no body read", async () => {
    await using shop = await PaidShop.open((response) => void response.writeHead(200, { a: "b" }).end("free"))
    let given: unknown
    const base = async (...args: Parameters<typeof globalThis.fetch>) => {
      const response = await globalThis.fetch(...args)
      given = response
      return response
    }
    const { fetch, signed } = TestPayer.make({ base })
    const response = await fetch(shop.origin)
    assert.strictEqual(response, given, "the very same response")
    assert.isFalse(response.bodyUsed)
    assert.strictEqual(await response.text(), "free")
    assert.isUndefined(settlementOf(response))
    assert.strictEqual(shop.arrivals.length, 1)
    assert.strictEqual(signed.length, 0)
  })

  it.each([400, 401, 403, 404, 409, 429, 500, 503])("passes %d through untouched", async (status) => {
    await using shop = await PaidShop.open(PaidShop.refuse(status))
    const { fetch, signed } = TestPayer.make()
    const response = await fetch(shop.origin)
    assert.strictEqual(response.status, status)
    assert.isFalse(response.bodyUsed)
    assert.strictEqual(signed.length, 0)
    assert.strictEqual(shop.arrivals.length, 1)
  })

  it("passes a 402 of others through untouched", async () => {
    await using shop = await PaidShop.open((response) => void response.writeHead(402).end('{"x402Version":1}'))
    const { fetch, signed } = TestPayer.make()
    const response = await fetch(shop.origin)
    assert.strictEqual(response.status, 402)
    assert.strictEqual(await response.text(), '{"x402Version":1}')
    assert.strictEqual(signed.length, 0)
  })

  it("leaves a caller alone who sends a payment of its own", async () => {
    await using shop = await PaidShop.open(PaidShop.refuse())
    const { fetch, signed } = TestPayer.make()
    const response = await fetch(shop.origin, { headers: { "x-payment": "mine" } })
    assert.strictEqual(response.status, 402)
    assert.isFalse(response.bodyUsed)
    assert.strictEqual(signed.length, 0)
  })

  it("leaves the refusal of HEAD alone, which has no offer to read", async () => {
    await using shop = await PaidShop.open()
    const { fetch, signed } = TestPayer.make()
    assert.strictEqual((await fetch(shop.origin, { method: "HEAD" })).status, 402)
    assert.strictEqual(signed.length, 0)
  })

  it("rejects as fetch does for what is no request", async () => {
    const { fetch } = TestPayer.make()
    assert.instanceOf(await TestPayer.rejection(fetch("not a url")), TypeError)
    assert.instanceOf(await TestPayer.rejection(fetch("http://127.0.0.1:1/")), TypeError)
    assert.instanceOf(await TestPayer.rejection(fetch("http://127.0.0.1/", { headers: { "a b": "c" } })), TypeError)
  })

  it("throws a mistake in the options at once", () => {
    const { schemeClient } = TestPayer.wallet()
    const mistakes: ReadonlyArray<PayingFetchOptions> = [
      { schemes: [] },
      { schemes: [schemeClient], limits: { perRequest: "5 cents" } }
    ]
    for (const options of mistakes) {
      assert.throws(() => wrapFetch(globalThis.fetch, options), /limits|schemes/)
    }
    assert.throws(() => facilitatorLookup("http://facilitator.example"), /facilitator/)
  })
})

describe("the response that a caller sees", () => {
  it.each([
    [
      PaidShop.refuse(402, { accepts: [PaidShop.offer({ maxAmountRequired: "100001" })] }),
      { _tag: "PaymentDeclined", rule: "over_request_limit" }
    ],
    [
      PaidShop.paidWith(PaidShop.refuse(402, { code: "INSUFFICIENT_BALANCE" })),
      { _tag: "PaymentError", code: "INSUFFICIENT_BALANCE" }
    ],
    [
      PaidShop.paidWith(PaidShop.refuse(402, { reason: "binding_mismatch" })),
      { _tag: "ValidationError", reason: "binding_mismatch" }
    ],
    [
      PaidShop.paidWith(PaidShop.refuse(409, { reason: "already_used", retry: "never" })),
      { _tag: "ValidationError", reason: "already_used" }
    ],
    [PaidShop.paidWith(PaidShop.refuse()), { _tag: "PaymentRefused" }],
    [PaidShop.paidWith(PaidShop.refuse(503)), { _tag: "SettlementPending" }]
  ])("is the tagged error itself: %#", async (answer, expected) => {
    await using shop = await PaidShop.open(answer)
    const error = await TestPayer.rejection(TestPayer.make().fetch(shop.origin))
    assert.include(error, expected)
    assert.isAbove(error.message.length, 20)
  })

  const mine = new Error("my dialog is broken")

  it.each([
    ["rejects", () => Promise.reject(mine)],
    [
      "throws",
      () => {
        throw mine
      }
    ]
  ])("is the caller's own error where confirm %s", async (_, confirm) => {
    await using shop = await PaidShop.open()
    const { fetch, signed } = TestPayer.make({ confirm })
    assert.strictEqual(await TestPayer.rejection(fetch(shop.origin)), mine)
    assert.strictEqual(signed.length, 0)
  })

  it.each([false, undefined, null, 1, "yes", {}])("is a no where confirm answers %o", async (answer) => {
    await using shop = await PaidShop.open()
    const { fetch, signed } = TestPayer.make({ confirm: () => Promise.resolve(answer as boolean) })
    assert.include(await TestPayer.rejection(fetch(shop.origin)), { rule: "confirm_refused" })
    assert.strictEqual(signed.length, 0)
  })

  it("is the response where confirm says true", async () => {
    await using shop = await PaidShop.open()
    const { fetch } = TestPayer.make({ confirm: ({ price }) => price === "$0.01" })
    assert.strictEqual((await fetch(shop.origin)).status, 200)
  })

  it("is the response, even where onPayment fails", async () => {
    await using shop = await PaidShop.open()
    const troubles: Array<unknown> = []
    const full = new Error("my book is full")
    const { fetch } = TestPayer.make({
      onPayment: () => Promise.reject(full),
      onTrouble: (error) => {
        troubles.push(error)
        throw new Error("and so is the other one")
      }
    })
    assert.strictEqual((await fetch(shop.origin)).status, 200)
    assert.deepStrictEqual(troubles, [full])
  })

  it("comes with a warning of the process without `onTrouble`", async () => {
    await using shop = await PaidShop.open()
    const full = new Error("my book is full")
    const { fetch } = TestPayer.make({ onPayment: () => Promise.reject(full) })
    const warned = once(process, "warning")
    assert.strictEqual((await fetch(shop.origin)).status, 200)
    assert.deepStrictEqual(await warned, [full])
  })

  it("comes with an error that is reported where no process warns, as in a browser", async () => {
    await using shop = await PaidShop.open()
    const full = new Error("my book is full")
    const reported: Array<unknown> = []
    vi.stubGlobal("process", Object.create(process, { emitWarning: { value: undefined } }))
    vi.stubGlobal("reportError", (error: unknown) => reported.push(error))
    try {
      const { fetch } = TestPayer.make({ onPayment: () => Promise.reject(full) })
      assert.strictEqual((await fetch(shop.origin)).status, 200)
    } finally {
      vi.unstubAllGlobals()
    }
    assert.deepStrictEqual(reported, [full])
  })
})

describe("quote", () => {
  it("says what a request would cost, sends it once and signs nothing", async () => {
    await using shop = await PaidShop.open()
    const { fetch, signed } = TestPayer.make()
    const quotation = await fetch.quote(`${shop.origin}/a`, { method: "POST", body: "x" })
    assert.deepStrictEqual(
      quotation?.payable.map(({ amount, method, price, url }) => ({ amount, method, price, url })),
      [{ amount: 10_000n, method: "POST", price: "$0.01", url: `${shop.origin}/a` }]
    )
    assert.strictEqual(shop.arrivals.length, 1)
    assert.strictEqual(signed.length, 0)
  })

  it("is nothing where nothing is asked for", async () => {
    await using shop = await PaidShop.open((response) => void response.end("free"))
    assert.isUndefined(await TestPayer.make().fetch.quote(shop.origin))
  })
})

const record = {
  paymentId: "",
  status: "included",
  network: PaidShop.network,
  asset: PaidShop.asset,
  payer: PaidShop.receipt.payer,
  payTo: PaidShop.offer().payTo,
  amount: "10000",
  transaction: "0xabc",
  execution: "running",
  runs: 1,
  history: []
}

describe("status", () => {
  it.each([true, false])(
    "asks the facilitator where one is given (%s), and the journal in any case",
    async (isGiven) => {
      await using facilitator = await PaidShop.open((response, { url }) => {
        const paymentId = url.slice("/payments/".length)
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ ...record, paymentId }))
      })
      await using shop = await PaidShop.open(PaidShop.paidWith(PaidShop.refuse(503)))
      const { fetch } = TestPayer.make(isGiven ? { lookup: facilitatorLookup(facilitator.origin) } : {})
      const error = await TestPayer.rejection(fetch(shop.origin))
      const paymentId = String(error["paymentId"])
      const status = await fetch.status(paymentId)
      assert.strictEqual(status.entry?.paymentId, paymentId)
      assert.strictEqual(status.entry?.state, "pending")
      assert.strictEqual(status.record?.status, isGiven ? "included" : undefined)
    }
  )

  it("rejects with FacilitatorUnavailable where the lookup has no response, whatever it threw", async () => {
    const paymentId = `pay_${"a".repeat(22)}`
    await using facilitator = await PaidShop.open((response) => void response.writeHead(500).end())
    const dead = TestPayer.make({ lookup: facilitatorLookup(facilitator.origin) })
    assert.strictEqual((await TestPayer.rejection(dead.fetch.status(paymentId)))["_tag"], "FacilitatorUnavailable")
    const cause = new Error("my table is gone")
    const own = TestPayer.make({ lookup: () => Promise.reject(cause) })
    const error = await TestPayer.rejection(own.fetch.status(paymentId))
    assert.strictEqual(error["_tag"], "FacilitatorUnavailable")
    assert.strictEqual(error.cause, cause)
  })
})
