import { assert, describe, it } from "@effect/vitest"

import * as Collection from "../../../core/test/server/host/Collection.ts"
import { settlementOf } from "../src/index.ts"
import * as PaidShop from "./PaidShop.ts"
import * as TestPayer from "./TestPayer.ts"

/** Sends a head with a receipt, and half of the body that the head announces. */
const cut: PaidShop.Answer = (response) => {
  response.writeHead(200, { ...PaidShop.receiptHeaders(), "content-length": "8" })
  response.write("half", () => void response.destroy())
}

/** A shop that does these one after another with what is paid, the last for ever. */
const paidInTurn = (...answers: ReadonlyArray<PaidShop.Answer>) => {
  const left = [...answers]
  return PaidShop.open(
    PaidShop.paidWith((response, arrival) => (left.length > 1 ? left.shift() : left[0])?.(response, arrival))
  )
}

const payments = (shop: PaidShop.PaidShop) => shop.paid().map(({ payment }) => payment)

const readers: ReadonlyArray<readonly [string, (response: Response) => Promise<unknown>]> = [
  ["text", (response) => response.text()],
  ["json", (response) => response.json()],
  ["bytes", (response) => response.arrayBuffer()],
  ["a copy", (response) => response.clone().text()],
  ["a stream", async ({ body }) => body?.pipeTo(new WritableStream())]
]

describe("a body that breaks off", () => {
  it.each(readers)("while it is read as %s is sent for again with the same payment", async (_, read) => {
    await using shop = await paidInTurn(cut, cut, PaidShop.serve)
    const told: Array<unknown> = []
    const { fetch, signed } = TestPayer.make({ onPayment: (receipt) => void told.push(receipt) })
    await TestPayer.rejection(read(await fetch(shop.origin)))
    assert.isTrue(await fetch.isOpen(shop.origin))
    await TestPayer.rejection(read(await fetch(shop.origin)))
    const response = await fetch(shop.origin)
    assert.deepStrictEqual(settlementOf(response), PaidShop.receipt)
    assert.include(response, { url: `${shop.origin}/`, redirected: false, type: "basic" })
    await read(response)
    assert.isFalse(await fetch.isOpen(shop.origin))
    assert.strictEqual(new Set(payments(shop)).size, 1)
    assert.strictEqual(signed.length, 1)
    assert.strictEqual(told.length, 1)
    await fetch(shop.origin)
    assert.strictEqual(signed.length, 2, "the whole body has arrived: the next call is another purchase")
  })

  it.each([
    ["that it was used", PaidShop.refuse(409, { reason: "already_used", retry: "never" })],
    ["no more than the price", PaidShop.refuse()]
  ])("is bought anew by the same call where the shop says %s", async (_, answer) => {
    await using shop = await paidInTurn(cut, answer, PaidShop.serve)
    const { fetch, signed } = TestPayer.make()
    await TestPayer.rejection((await fetch(shop.origin)).text())
    assert.include(await (await fetch(shop.origin)).json(), { method: "GET" })
    const [one, two, three] = payments(shop)
    assert.strictEqual(one, two)
    assert.notStrictEqual(two, three)
    assert.strictEqual(signed.length, 2)
  })

  it("is bought anew within the limits only", async () => {
    await using shop = await paidInTurn(cut, PaidShop.refuse(409, { reason: "already_used", retry: "never" }))
    const { fetch, signed } = TestPayer.make({ limits: { perDay: "$0.01" } })
    await TestPayer.rejection((await fetch(shop.origin)).text())
    assert.include(await TestPayer.rejection(fetch(shop.origin)), { _tag: "PaymentDeclined" })
    assert.strictEqual(signed.length, 1)
  })

  it("by the caller's own signal is sent for again too", async () => {
    await using shop = await paidInTurn((response) => {
      response.writeHead(200, PaidShop.receiptHeaders())
      response.write("half")
    }, PaidShop.serve)
    const { fetch, signed } = TestPayer.make()
    const controller = new AbortController()
    const reason = new Error("the caller has changed its mind")
    const text = TestPayer.rejection((await fetch(shop.origin, { signal: controller.signal })).text())
    controller.abort(reason)
    assert.strictEqual(await text, reason)
    assert.strictEqual((await fetch(shop.origin)).status, 200)
    assert.strictEqual(signed.length, 1)
  })
})

describe("a body that does not break off", () => {
  it.each([
    ["is read to its end", (response: Response) => response.text()],
    ["is not read", async () => undefined],
    ["is cancelled", (response: Response) => response.body?.cancel()]
  ])("and %s is over: the next call is another purchase", async (_, use) => {
    await using shop = await PaidShop.open()
    const { fetch, signed } = TestPayer.make()
    await use(await fetch(shop.origin))
    assert.isFalse(await fetch.isOpen(shop.origin))
    await fetch(shop.origin)
    assert.strictEqual(signed.length, 2)
  })

  it("and that nobody has any more leaves its connection, as with fetch itself", async ({ signal }) => {
    let open = 0
    await using shop = await PaidShop.open(
      PaidShop.paidWith((response) => {
        open++
        response.on("close", () => open--)
        response.writeHead(200, PaidShop.receiptHeaders())
        const more = () => void response.write("x".repeat(1024 * 1024), more)
        more()
      })
    )
    const { fetch } = TestPayer.make({ limits: { perDay: "$1" } })
    await Promise.all(Array.from({ length: 4 }, async () => void (await fetch(shop.origin))))
    assert.strictEqual(open, 4)
    await Collection.until(() => open === 0, signal)
    assert.strictEqual(open, 0)
  })
})
