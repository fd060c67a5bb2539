/** Responses on the web platform whose body ends before its receipt could cover it. */
import { assert, describe, it } from "vitest"

import * as SoldRoutes from "../../../src/server/host/SoldRoutes.ts"
import * as WebExchange from "../../../src/server/host/WebExchange.ts"
import * as HostMarket from "../../../src/testing/host/HostMarket.ts"
import { purchaseReceipt } from "../../../src/wire/pontage/PurchaseReceiptShape.ts"

const open = async (receipt: "payment" | "response" = "response") => {
  const market = HostMarket.open()
  const { close, keyed, ready, seller } = SoldRoutes.open({
    ...market.shop,
    routes: { "GET /report": { ...HostMarket.terms, receipt } }
  })
  await ready()
  const respond = (response: Response, headers: Readonly<Record<string, string>>, signal?: AbortSignal) => {
    const request = new Request("https://shop.example/report", { headers, signal: signal ?? null })
    const route = keyed[0]?.route ?? assert.fail("the shop has no route")
    return WebExchange.respond(seller, route, { request, beside: [], facts: {}, handle: () => response })
  }
  const ask = (body: ReadableStream<Uint8Array>, headers: Readonly<Record<string, string>>, signal?: AbortSignal) =>
    respond(new Response(body), headers, signal)
  const refusal = await ask(new ReadableStream(), {})
  const payment = await market.pay({
    status: refusal.status,
    headers: Object.fromEntries(refusal.headers),
    body: await refusal.text(),
    complete: true
  })
  return { market, ask, respond, payment, close }
}

const part = new TextEncoder().encode("It will ")

/** One part, and then whatever the second pull does. */
const begun = (second: (controller: ReadableStreamDefaultController<Uint8Array>) => void, cancel?: () => void) => {
  let pulls = 0
  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        if (pulls++ === 0) return controller.enqueue(part)
        second(controller)
        return new Promise<void>(() => undefined)
      },
      cancel: () => cancel?.()
    },
    { highWaterMark: 0 }
  )
}

const signedStatus = (response: Response) => {
  const json: unknown = JSON.parse(response.headers.get("x-payment-response") ?? "{}")
  const read = purchaseReceipt.read(Reflect.get(Object(json), "signedReceipt"))
  return read !== undefined && "payload" in read ? read.payload.responseStatus : undefined
}

describe("a response that its receipt should cover", () => {
  it("leaves as far as it came if it breaks off, with the receipt that covers none, and is owed again", async () => {
    const { ask, close, market, payment } = await open()
    const broken = new Error("the source broke")
    const response = await ask(
      begun((controller) => controller.error(broken)),
      payment
    )
    assert.strictEqual(signedStatus(response), 0)
    const reader = response.body?.getReader()
    assert.deepStrictEqual(await reader?.read(), { done: false, value: part })
    assert.strictEqual(await reader?.read().catch((error: unknown) => error), broken)
    assert.strictEqual(await market.nextEnd(), "failed")
    await close()
  })

  it("is cancelled and owed again if its client leaves while it stalls", async () => {
    const { ask, close, market, payment } = await open()
    const client = new AbortController()
    let isCancelled = false
    const stalled = begun(
      () => client.abort(),
      () => {
        isCancelled = true
      }
    )
    assert.strictEqual((await ask(stalled, payment, client.signal)).status, 503)
    assert.isTrue(isCancelled)
    assert.strictEqual(await market.nextEnd(), "failed")
    await close()
  })
})

const locked = (): Response => {
  const response = new Response("It will rain.")
  response.body?.getReader()
  return response
}

describe("a response whose body is locked", () => {
  it.each(["payment", "response"] as const)(
    "is an error of its handler, and is owed again (receipt: %s)",
    async (receipt) => {
      const { close, market, payment, respond } = await open(receipt)
      const error = await respond(locked(), payment).catch((thrown: unknown) => thrown)
      assert.match(
        String(error),
        /^TypeError: the handler's response has a body that is being read or was read already/
      )
      assert.strictEqual(await market.nextEnd(), "failed")
      const response = await respond(new Response("It will rain."), payment)
      assert.strictEqual(await response.text(), "It will rain.")
      assert.strictEqual(await market.nextEnd(), "served")
      await close()
    }
  )
})
