/** Responses on the web platform that cannot leave as a payment bought them: their body ends too early, or was read by the application. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { assert, describe, it } from "vitest"

import { Facilitator } from "../../../src/facilitator/Facilitator.ts"
import * as SoldRoutes from "../../../src/server/host/SoldRoutes.ts"
import * as WebExchange from "../../../src/server/host/WebExchange.ts"
import type { RouteConfig } from "../../../src/server/route/RouteConfig.ts"
import type { FacilitatorLayer } from "../../../src/server/Seller.ts"
import * as HostMarket from "../../../src/testing/host/HostMarket.ts"
import { purchaseReceipt } from "../../../src/wire/pontage/PurchaseReceiptShape.ts"

interface Sale {
  readonly receipt?: "payment" | "response"
  readonly settle?: NonNullable<RouteConfig["settle"]>
  /** Whether payments are draws on a channel, which end at the head of their response. */
  readonly draws?: boolean
}

const isInProcess = (given: HostMarket.HostMarket["shop"]["facilitator"]): given is FacilitatorLayer =>
  Layer.isLayer(given)

/** The same facilitator, which says that each payment is a draw. */
const drawing = ({ facilitator }: HostMarket.HostMarket["shop"]) => {
  if (!isInProcess(facilitator)) return assert.fail("the facilitator of the market is in its process")
  const draws = Effect.map(Facilitator, (real) =>
    Facilitator.of({
      ...real,
      settle: (request, claim) =>
        Effect.map(real.settle(request, claim), (settled) => ({ ...settled, isDraw: true as const }))
    })
  )
  return Layer.provide(Layer.effect(Facilitator, draws), facilitator)
}

const open = async ({ draws = false, receipt = "response", settle = "before-handler" }: Sale = {}) => {
  const market = HostMarket.open()
  const { close, keyed, ready, seller } = SoldRoutes.open({
    ...market.shop,
    ...(draws && { facilitator: drawing(market.shop) }),
    routes: { "GET /report": { ...HostMarket.terms, receipt, settle } }
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
  const handled = (request: Request, handle: () => Response | Promise<Response>) =>
    WebExchange.respond(seller, keyed[0]?.route ?? assert.fail("the shop has no route"), {
      request,
      beside: [],
      facts: {},
      handle
    })
  return { market, ask, respond, handled, payment, close }
}

const unreachable = () => assert.fail("the handler ran")

describe("a request that comes to the gate of its route twice", () => {
  it("is refused twice without a payment", async () => {
    const { close, handled } = await open()
    const request = new Request("https://shop.example/report")
    assert.strictEqual((await handled(request, unreachable)).status, 402)
    assert.strictEqual((await handled(request, unreachable)).status, 402)
    await close()
  })

  it.each(["before-handler", "after-handler"] as const)("pays once (%s)", async (settle) => {
    const { close, handled, market, payment } = await open({ receipt: "payment", settle })
    const request = new Request("https://shop.example/report", { headers: payment })
    const response = await handled(request, () => handled(request, () => new Response("It will rain.")))
    assert.strictEqual(await response.text(), "It will rain.")
    assert.strictEqual(await market.nextEnd(), "served")
    await close()
  })
})

describe("a response whose client left before it was made", () => {
  it.each(["payment", "response"] as const)(
    "is owed again, though its host drops it unread (receipt: %s)",
    async (receipt) => {
      const { close, handled, market, payment } = await open({ receipt })
      const left = new AbortController()
      const request = new Request("https://shop.example/report", { headers: payment, signal: left.signal })
      // The response stays reachable: only its client's end tells of it.
      const dropped = await handled(request, () => {
        left.abort()
        return new Response("It will rain.")
      })
      assert.strictEqual(await market.nextEnd(), "failed")
      assert.isFalse(dropped.bodyUsed)
      const again = new Request("https://shop.example/report", { headers: payment })
      const response = await handled(again, () => new Response("It will rain."))
      assert.strictEqual(await response.text(), "It will rain.")
      assert.strictEqual(market.transfers(), 1)
      await close()
    }
  )
})

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

  it("covers the bytes of a stream of texts", async () => {
    const { close, market, payment, respond } = await open()
    const texts = new ReadableStream<string>({
      start: (controller) => {
        controller.enqueue("It will ")
        controller.enqueue("rain.")
        controller.close()
      }
    })
    const response = await respond(new Response(texts as ReadableStream), payment)
    assert.strictEqual(signedStatus(response), 200)
    assert.strictEqual(await response.text(), "It will rain.")
    assert.strictEqual(await market.nextEnd(), "served")
    await close()
  })

  it.each([
    ["a receipt of the response", {}],
    ["a payment after the handler", { receipt: "payment", settle: "after-handler" }]
  ] as const)("is cancelled and owed again if its client leaves while it stalls (%s)", async (_, sale) => {
    const { ask, close, market, payment } = await open(sale)
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

/** A response that the application has read to its end: its body is not locked any more, and empty. */
const read = async (): Promise<Response> => {
  const response = new Response("It will rain.")
  const reader = response.body?.getReader()
  // oxlint-disable-next-line no-await-in-loop -- chunks arrive one after another
  while ((await reader?.read())?.done === false);
  reader?.releaseLock()
  return response
}

const sales: ReadonlyArray<readonly [string, Sale]> = [
  ["a receipt of the payment", { receipt: "payment" }],
  ["a receipt that covers the response", { receipt: "response" }],
  ["a draw", { receipt: "payment", draws: true }],
  ["a payment after the handler", { receipt: "payment", settle: "after-handler" }]
]

describe.each([
  ["is being read", locked],
  ["was read already", read]
])("a response whose body %s", (_, make) => {
  it.each(sales)("is an error of its handler, and is owed again (%s)", async (_name, sale) => {
    const { close, market, payment, respond } = await open(sale)
    const error = await respond(await make(), payment).catch((thrown: unknown) => thrown)
    assert.match(String(error), /^TypeError: the handler's response has a body that is being read or was read already/)
    assert.strictEqual(await market.nextEnd(), "failed")
    const response = await respond(new Response("It will rain."), payment)
    assert.strictEqual(await response.text(), "It will rain.")
    assert.strictEqual(await market.nextEnd(), "served")
    await close()
  })
})
