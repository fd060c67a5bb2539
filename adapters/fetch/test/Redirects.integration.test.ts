import { assert, describe, it } from "@effect/vitest"

import { settlementOf } from "../src/index.ts"
import * as PaidShop from "./PaidShop.ts"
import * as TestPayer from "./TestPayer.ts"

const codes = [301, 302, 303, 307, 308]

const redirect =
  (status: number, location: string): PaidShop.Answer =>
  (response) =>
    void response.writeHead(status, { location }).end()

describe("a redirect to another origin", () => {
  it.each(codes)(
    "by %d of the unpaid request is followed, and what asks for a payment there is not paid",
    async (code) => {
      await using stranger = await PaidShop.open()
      await using shop = await PaidShop.open(redirect(code, `${stranger.origin}/report`))
      const { fetch, signed } = TestPayer.make()
      assert.include(await TestPayer.rejection(fetch(shop.origin)), { rule: "cross_origin" })
      assert.strictEqual(stranger.arrivals.length, 1)
      assert.strictEqual(stranger.paid().length, 0)
      assert.strictEqual(signed.length, 0)
    }
  )

  it.each(codes)(
    "by %d of the paid request is not followed: the payment stays where it was meant for",
    async (code) => {
      await using stranger = await PaidShop.open()
      await using shop = await PaidShop.open(PaidShop.paidWith(redirect(code, `${stranger.origin}/report`)))
      const { fetch, signed } = TestPayer.make()
      assert.include(await TestPayer.rejection(fetch(shop.origin)), { _tag: "SettlementPending" })
      assert.strictEqual(stranger.arrivals.length, 0)
      assert.strictEqual(signed.length, 1)
    }
  )

  it("is free to serve what is free", async () => {
    await using stranger = await PaidShop.open((response) => void response.end("free"))
    await using shop = await PaidShop.open(redirect(302, stranger.origin))
    const response = await TestPayer.make().fetch(shop.origin)
    assert.strictEqual(await response.text(), "free")
  })

  it("that comes back is paid at its origin, and directly", async () => {
    await using detour = await PaidShop.open((response, { url }) =>
      redirect(307, `${decodeURIComponent(url.slice(1))}/report`)(response, shop.arrivals[0] as PaidShop.Arrival)
    )
    await using shop: PaidShop.PaidShop = await PaidShop.open((response, arrival) =>
      arrival.url === "/report"
        ? PaidShop.sell(response, arrival)
        : redirect(307, `${detour.origin}/${encodeURIComponent(shop.origin)}`)(response, arrival)
    )
    const response = await TestPayer.make().fetch(`${shop.origin}/start`)
    assert.strictEqual(response.status, 200)
    assert.strictEqual(detour.arrivals.length, 1)
    assert.strictEqual(detour.paid().length, 0)
  })
})

const within =
  (code: number): PaidShop.Answer =>
  (response, arrival) =>
    arrival.url === "/report" ? PaidShop.sell(response, arrival) : redirect(code, "/report")(response, arrival)

describe("a redirect within the origin", () => {
  it.each(codes)("by %d leads to the address that is paid, directly", async (code) => {
    await using shop = await PaidShop.open(within(code))
    const response = await TestPayer.make().fetch(`${shop.origin}/start`)
    assert.strictEqual(response.status, 200)
    assert.deepStrictEqual(
      shop.arrivals.map(({ payment, url }) => `${url} ${payment === undefined ? "unpaid" : "paid"}`),
      ["/start unpaid", "/report unpaid", "/report paid"]
    )
  })

  it.each(codes)("by %d of a request with a body is not paid, because its method is unknown", async (code) => {
    await using shop = await PaidShop.open(within(code))
    const { fetch, signed } = TestPayer.make()
    const error = await TestPayer.rejection(fetch(`${shop.origin}/start`, { method: "POST", body: "x" }))
    assert.include(error, { rule: "method_redirected" })
    assert.include(error.message, `${shop.origin}/report`)
    assert.strictEqual(signed.length, 0)
  })

  it.each(codes)("by %d of the paid request is not followed", async (code) => {
    await using shop = await PaidShop.open(PaidShop.paidWith(redirect(code, "/elsewhere")))
    const { fetch } = TestPayer.make()
    assert.include(await TestPayer.rejection(fetch(shop.origin)), { _tag: "SettlementPending" })
    assert.isFalse(shop.arrivals.some(({ url }) => url === "/elsewhere"))
  })
})

/** A redirect that is sold: it has a receipt. */
const sold =
  (status: number, location: string): PaidShop.Answer =>
  (response) => {
    const headers = PaidShop.receiptHeaders()
    response.writeHead(status, { ...headers, location }).end("the shop's own words")
  }

const goods: PaidShop.Answer = (response, arrival) =>
  arrival.url.startsWith("/goods") ? PaidShop.serve(response, arrival) : response.writeHead(404).end()

describe("a redirect that is bought", () => {
  it.each(codes)("by %d is followed without the payment, and over: the next call is another purchase", async (code) => {
    await using stranger = await PaidShop.open(goods)
    await using shop = await PaidShop.open(PaidShop.paidWith(sold(code, `${stranger.origin}/goods?key=1`)))
    const told: Array<unknown> = []
    const { fetch, signed } = TestPayer.make({ onPayment: (receipt) => void told.push(receipt) })
    const response = await fetch(shop.origin, { headers: { authorization: "Bearer mine", "x-key": "value" } })
    assert.strictEqual(response.status, 200)
    assert.include(response, { redirected: true, url: `${stranger.origin}/goods?key=1` })
    assert.strictEqual(settlementOf(response)?.paymentId, (told[0] as { readonly paymentId: string }).paymentId)
    assert.include(stranger.arrivals[0], { method: "GET", payment: undefined })
    assert.strictEqual(stranger.arrivals[0]?.headers["x-key"], "value")
    assert.notProperty(stranger.arrivals[0]?.headers, "authorization")
    assert.isFalse(await fetch.isOpen(shop.origin))
    assert.strictEqual(shop.paid().length, 1)
    assert.strictEqual(signed.length, 1)
    assert.strictEqual(told.length, 1)
  })

  it.each(codes)("by %d of a POST is followed as fetch does", async (code) => {
    await using shop = await PaidShop.open((response, arrival) => {
      if (arrival.url === "/goods") PaidShop.serve(response, arrival)
      else PaidShop.paidWith(sold(code, "/goods"))(response, arrival)
    })
    const init = { method: "POST", body: "x", headers: { "content-type": "x/y", authorization: "Bearer mine" } }
    assert.strictEqual((await TestPayer.make().fetch(shop.origin, init)).status, 200)
    const { body, headers, method, payment } = shop.arrivals[2] ?? assert.fail("not followed")
    assert.isUndefined(payment)
    assert.strictEqual(headers.authorization, "Bearer mine")
    assert.deepStrictEqual(
      [method, body.toString(), headers["content-type"]],
      code < 307 ? ["GET", "", undefined] : ["POST", "x", "x/y"]
    )
  })

  it.each(["manual", "error"] as const)("is the response where the caller's mode is %s", async (redirect) => {
    await using shop = await PaidShop.open(PaidShop.paidWith(sold(302, "/goods")))
    const { fetch, signed } = TestPayer.make()
    const response = await fetch(new Request(shop.origin, { redirect }))
    assert.strictEqual(response.headers.get("location"), "/goods")
    assert.strictEqual(response.status, 302)
    assert.strictEqual(shop.arrivals.length, 2)
    assert.strictEqual(signed.length, 1)
  })

  it.each(["http://127.0.0.1:9/", "data:text/plain,x", "http://[", undefined])(
    "is the response where it leads nowhere: to %s",
    async (location) => {
      const headers = location === undefined ? {} : { location }
      await using shop = await PaidShop.open(
        PaidShop.paidWith((response) =>
          response.writeHead(302, { ...PaidShop.receiptHeaders(), ...headers }).end("words")
        )
      )
      const { fetch, signed } = TestPayer.make()
      const response = await fetch(shop.origin)
      assert.strictEqual(response.status, 302)
      assert.strictEqual(await response.text(), "words")
      assert.strictEqual(signed.length, 1)
    }
  )
})

describe("the caller's own redirect mode", () => {
  it("manual gives the redirect to the caller", async () => {
    await using shop = await PaidShop.open(redirect(302, "/report"))
    const response = await TestPayer.make().fetch(shop.origin, { redirect: "manual" })
    assert.strictEqual(response.status, 302)
    assert.strictEqual(shop.arrivals.length, 1)
  })

  it("error rejects as fetch does", async () => {
    await using shop = await PaidShop.open(redirect(302, "/report"))
    assert.instanceOf(await TestPayer.rejection(TestPayer.make().fetch(shop.origin, { redirect: "error" })), TypeError)
    assert.strictEqual(shop.arrivals.length, 1)
  })

  it("of a Request is kept too", async () => {
    await using shop = await PaidShop.open(redirect(302, "/report"))
    const request = new Request(shop.origin, { redirect: "manual", method: "POST", body: "x" })
    assert.strictEqual((await TestPayer.make().fetch(request)).status, 302)
    assert.strictEqual(shop.arrivals.length, 1)
  })
})
