import { assert, describe, it } from "@effect/vitest"
import { Network, protocolSeller } from "@pontage/core"

import { settlementOf } from "../src/index.ts"
import * as PaidShop from "./PaidShop.ts"
import * as TestPayer from "./TestPayer.ts"

const garbage: PaidShop.Answer = (response) => void response.writeHead(402, { "x-payment": "{}" }).end('{"error":"pay"')

/** Responds with a body of this many bytes, and counts those that left before the client disconnected. */
const flood = (bytes: number) => {
  let written = 0
  const chunk = Buffer.alloc(65_536, " ")
  const answer: PaidShop.Answer = (response) => {
    response.writeHead(402, { "x-payment": "{}" })
    const push = () => {
      while (written < bytes && !response.destroyed) {
        written += chunk.length
        if (!response.write(chunk)) return void response.once("drain", push)
      }
      response.end()
    }
    push()
  }
  return { answer, written: () => written }
}

/**
 * How a server may treat a paid request whose payment it has taken. Each distinct payment that arrives is counted as a
 * transfer: the worst that a server can do with it.
 */
const treatments: ReadonlyArray<readonly [string, PaidShop.Answer]> = [
  ["resets the connection after the header", (response) => void response.destroy()],
  [
    "resets the connection in the middle of the headers",
    (response) => void response.socket?.write("HTTP/1.1 200 OK\r\nX-Pay", () => response.destroy())
  ],
  ["responds with 500 without a receipt", (response) => void response.writeHead(500).end("oops")],
  ["responds with 502 like a proxy", (response) => void response.writeHead(502).end("<html>")],
  ["asks for a payment again", PaidShop.refuse()],
  ["says that it is pending, for ever", PaidShop.refuse(409, { retry: "wait", paymentState: "sent" })],
  ["says that it is not known, for ever", PaidShop.refuse(503, { retry: "same_payment", paymentState: "accepted" })],
  ["says that it has expired", PaidShop.refuse(402, { code: "EXPIRED_PAYMENT", retry: "new_payment" })],
  ["says that the transfer failed", PaidShop.refuse(402, { paymentState: "failed", retry: "new_payment" })],
  ["says that it was used", PaidShop.refuse(409, { reason: "already_used", retry: "never" })],
  ["responds with 402 with a broken body", garbage],
  ["redirects it", (response) => void response.writeHead(307, { location: "/elsewhere" }).end()],
  [
    "fails with a receipt",
    (response) => void response.writeHead(500, { ...protocolSeller.receiptHeaders(PaidShop.receipt, { now: 0 }) }).end()
  ]
]

const form = (value: string) => {
  const data = new FormData()
  data.set("a", value)
  return data
}

describe("a server that takes the payment", () => {
  it.each(treatments)("and %s gets one payment, however often the caller repeats the call", async (_, treatment) => {
    await using shop = await PaidShop.open(PaidShop.paidWith(treatment))
    const { fetch, signed } = TestPayer.make()
    const call = () =>
      fetch(`${shop.origin}/report`).then(
        (response) => response.status,
        (error: { readonly _tag: string }) => error._tag
      )
    // A caller that does not give up: each call after the one before.
    const outcomes: Array<unknown> = []
    await [1, 2, 3].reduce(async (before) => {
      await before
      outcomes.push(await call())
    }, Promise.resolve())
    assert.strictEqual(new Set(shop.paid().map(({ payment }) => payment)).size, 1, "one transfer")
    assert.strictEqual(signed.length, 1)
    assert.notInclude(outcomes, 200)
  })

  const foreign = [
    ["network", { network: Network.make("eip155:1") }],
    ["amount", { amount: "9" }],
    ["transaction", { transaction: "" }]
  ] as const
  it.each(foreign)("and serves it with a receipt of another %s gives none", async (_, change) => {
    const headers = protocolSeller.receiptHeaders({ ...PaidShop.receipt, ...change }, { now: 0 })
    await using shop = await PaidShop.open(
      PaidShop.paidWith((response) => void response.writeHead(200, { ...headers }).end("the goods"))
    )
    const told: Array<unknown> = []
    const { fetch } = TestPayer.make({ onPayment: (receipt) => void told.push(receipt) })
    const response = await fetch(shop.origin)
    assert.strictEqual(await response.text(), "the goods")
    assert.isUndefined(settlementOf(response))
    assert.lengthOf(told, 0)
  })

  it("and serves it in the end has been paid once", async () => {
    let failures = 5
    await using shop = await PaidShop.open(
      PaidShop.paidWith((response, arrival) =>
        failures-- > 0 ? void response.destroy() : PaidShop.serve(response, arrival)
      )
    )
    const { fetch, signed } = TestPayer.make()
    const response = await fetch(shop.origin)
    assert.strictEqual(response.status, 200)
    assert.strictEqual(signed.length, 1)
    assert.isAtLeast(shop.paid().length, 6)
  })

  it("and the next request, which is another one, is a payment of its own", async () => {
    await using shop = await PaidShop.open(PaidShop.paidWith((response) => void response.destroy()))
    const { fetch, signed } = TestPayer.make()
    await TestPayer.rejection(fetch(`${shop.origin}/a`))
    await TestPayer.rejection(fetch(`${shop.origin}/a`))
    await TestPayer.rejection(fetch(`${shop.origin}/b`))
    await TestPayer.rejection(fetch(`${shop.origin}/b`, { method: "POST", body: "1" }))
    await TestPayer.rejection(fetch(`${shop.origin}/b`, { method: "POST", body: "1" }))
    await TestPayer.rejection(fetch(`${shop.origin}/b`, { method: "POST", body: "2" }))
    assert.strictEqual(signed.length, 4)
  })

  it("for the same form is recognised by what the form says, not by its boundary", async () => {
    await using shop = await PaidShop.open(PaidShop.paidWith((response) => void response.destroy()))
    const { fetch, signed } = TestPayer.make()
    await TestPayer.rejection(fetch(shop.origin, { method: "POST", body: form("1") }))
    await TestPayer.rejection(fetch(shop.origin, { method: "POST", body: form("1") }))
    await TestPayer.rejection(fetch(new Request(shop.origin, { method: "POST", body: form("1") })))
    assert.strictEqual(signed.length, 1)
    await TestPayer.rejection(fetch(shop.origin, { method: "POST", body: form("2") }))
    assert.strictEqual(signed.length, 2)
  })
})

const accepts = (changes: object) => PaidShop.refuse(402, { accepts: [{ ...PaidShop.offer(), ...changes }] })

describe("a server that asks for a payment", () => {
  it("with a gigabyte is read to 64 KiB and hung up on", async () => {
    const gigabyte = 1024 ** 3
    const { answer, written } = flood(gigabyte)
    await using shop = await PaidShop.open(answer)
    const before = process.memoryUsage().rss
    const { fetch, signed } = TestPayer.make()
    const error = await TestPayer.rejection(fetch(shop.origin))
    assert.include(error, { _tag: "ValidationError", detail: "refusal_too_long" })
    assert.strictEqual(signed.length, 0)
    assert.isBelow(written(), 64 * 1024 * 1024, "what socket buffers hold, not the gigabyte")
    assert.isBelow(process.memoryUsage().rss - before, 64 * 1024 * 1024)
  })

  it("in words that are none is signed for by nobody", async () => {
    const answers: ReadonlyArray<PaidShop.Answer> = [
      garbage,
      accepts({ maxAmountRequired: "1e4" }),
      accepts({ maxAmountRequired: 10_000 }),
      accepts({ maxAmountRequired: "-1" }),
      accepts({ payTo: { toString: "0x1" } }),
      accepts({ network: "eip155:1" }),
      accepts({ network: "tron:mainnet" }),
      accepts({ scheme: "upto" }),
      accepts({ asset: "0x9999999999999999999999999999999999999999" }),
      accepts({ maxAmountRequired: "100001" }),
      accepts({ __proto__: null, extra: { challenge: "?" } })
    ]
    const signatures = await Promise.all(
      answers.map(async (answer) => {
        await using shop = await PaidShop.open(answer)
        const { fetch, signed } = TestPayer.make()
        const error = await TestPayer.rejection(fetch(shop.origin))
        assert.include(["ValidationError", "PaymentDeclined"], error["_tag"])
        assert.strictEqual(shop.paid().length, 0)
        return signed.length
      })
    )
    assert.deepStrictEqual(new Set(signatures), new Set([0]))
    assert.notProperty({}, "maxAmountRequired")
  })
})

describe("a thousand calls at once", () => {
  it("within a budget for ten are ten signatures and ten paid requests", async () => {
    await using shop = await PaidShop.open()
    const { fetch, signed } = TestPayer.make({ limits: { perDay: "$0.10" } })
    // A busy machine may take too long to connect: such a call is made again.
    const call = (index: number): Promise<number | string> =>
      fetch(`${shop.origin}/${index % 3}`).then(
        ({ status }) => status,
        (error: { readonly rule?: string }) => error.rule ?? call(index)
      )
    const outcomes = await Promise.all(Array.from({ length: 1000 }, (_, index) => call(index)))
    assert.strictEqual(signed.length, 10)
    assert.strictEqual(shop.paid().length, 10)
    assert.strictEqual(outcomes.filter((outcome) => outcome === 200).length, 10)
    assert.strictEqual(outcomes.filter((outcome) => outcome === "over_day_limit").length, 990)
  })
})
