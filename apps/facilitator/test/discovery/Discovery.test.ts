/**
 * The list of resources behind a real shop: which settled payment lists what, and how little of it a hostile payer or shop
 * decides.
 */
import { assert, describe, it } from "@effect/vitest"
import { FacilitatorSchemeRegistry } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"

import type { SettledPayment } from "../../src/discovery/DiscoveredResource.ts"
import * as Discovery from "../../src/discovery/Discovery.ts"
import type { Query } from "../../src/discovery/ResourceList.ts"
import * as TestFacilitator from "../TestFacilitator.ts"
import * as OfferingShop from "./OfferingShop.ts"

const { required } = OfferingShop

const payment: SettledPayment = {
  paymentId: "pay_1",
  scheme: "exact",
  network: "eip155:8453",
  payTo: TestFacilitator.payTo,
  asset: TestFacilitator.settled.asset,
  amount: "10000",
  resource: ""
}

/** A shop, and a list that takes its origin. */
const open = Effect.gen(function* () {
  const shop = yield* OfferingShop.open
  const schemes = [TestFacilitator.schemeWith(Effect.succeed([]))]
  const registry = Layer.succeed(FacilitatorSchemeRegistry.FacilitatorSchemeRegistry, {
    schemes,
    find: () => undefined,
    findOpen: () => undefined
  })
  const options = { origins: [shop.origin], allowPrivate: true, posts: [`${shop.origin}/orders`] }
  const layer = Layer.provide(Discovery.layer(options), registry)
  const { page, settled } = yield* Effect.provide(Discovery.Discovery, yield* Layer.build(layer))
  assert.isDefined(page)
  const items = (query: Query = {}) => Effect.map(page(query), (found) => found.items)
  let count = 0
  const pay = (resource: string, change: Partial<SettledPayment> = {}) =>
    settled({ ...payment, paymentId: `pay_${++count}`, resource: shop.origin + resource, ...change })
  /** Pays for a resource that was never sold before; once it is listed, every earlier request is over. */
  const settle = Effect.gen(function* () {
    const path = `/last/${++count}`
    shop.responses.set(path, { required: required() })
    yield* pay(path)
    const isListed = Effect.map(page({ limit: 100 }), ({ items: all }) =>
      all.some(({ resource }) => resource === shop.origin + path)
    )
    yield* Effect.repeat(
      Effect.andThen(
        Effect.promise(() => new Promise(setImmediate)),
        isListed
      ),
      {
        until: (found) => found
      }
    )
  })
  /** The names of the resources listed, without those of `settle`. */
  const names = Effect.andThen(
    settle,
    Effect.map(items({ limit: 100 }), (all) =>
      all.map(({ resource }) => resource.replace(shop.origin, "")).filter((name) => !name.startsWith("/last/"))
    )
  )
  return { items, names, page, pay, settle, shop }
})

describe("the list of resources", () => {
  it.effect("shows a sold resource as its own offer describes it, without what is made for one payer", () =>
    Effect.gen(function* () {
      const { items, names, pay, shop } = yield* open
      const extra = { name: "USDC", version: "2" }
      const icon = {
        iconUrl: `${shop.origin}/icon.png`,
        serviceName: "Reports",
        tags: ["weather", "d\u00e4y", "daily"]
      }
      const offer = required({ extra: { ...extra, challenge: "secret", retryToken: "secret" } }, icon)
      shop.responses.set("/report", { required: offer })
      yield* pay("/report?key=of-the-buyer#part")
      assert.deepStrictEqual(yield* names, ["/report"])
      const [entry] = yield* items()
      const expected: unknown = {
        resource: `${shop.origin}/report`,
        type: "http",
        x402Version: 2,
        accepts: required({ extra }).accepts,
        lastUpdated: "1970-01-01T00:00:00.000Z",
        description: "The report",
        mimeType: "application/json",
        serviceName: "Reports",
        tags: ["weather", "daily"],
        iconUrl: `${shop.origin}/icon.png`,
        extensions: required().extensions
      }
      assert.deepStrictEqual<unknown>(entry, expected)
      assert.strictEqual(shop.requests[0], "GET /report?key=of-the-buyer")
    })
  )

  it.effect("lists a route once by its template, and a resource of POST", () =>
    Effect.gen(function* () {
      const { names, pay, shop } = yield* open
      const routeTemplate = "/reports/:day"
      for (const day of ["monday", "tuesday"]) {
        shop.responses.set(`/reports/${day}`, { required: required({}, {}, { routeTemplate }) })
        yield* pay(`/reports/${day}`)
      }
      shop.responses.set("/orders", { required: required(), method: "POST" })
      yield* pay("/orders")
      assert.deepStrictEqual(yield* names, [routeTemplate, "/orders"])
    })
  )

  it.effect("sends no POST but where the settings allow it, whatever a payer names", () =>
    Effect.gen(function* () {
      const { names, pay, shop } = yield* open
      for (const path of ["/admin/delete", "/orders-of-others", "/orders/..%2fadmin"]) {
        shop.responses.set(path, { required: required(), method: "POST" })
        yield* pay(path)
      }
      assert.deepStrictEqual(yield* names, [])
      assert.deepStrictEqual(
        shop.requests.filter((one) => one.startsWith("POST")),
        []
      )
    })
  )

  it.effect("keeps the entries of shops apart that share an origin", () =>
    Effect.gen(function* () {
      const { items, names, pay, shop } = yield* open
      const routeTemplate = "/:shop/:day"
      const other = "0x9999999999999999999999999999999999999999"
      const offer = (payTo: string, amount: string) => ({
        required: required({ amount, payTo }, {}, { routeTemplate })
      })
      shop.responses.set("/one/monday", offer(payment.payTo, "10000"))
      shop.responses.set("/other/monday", offer(other, "1"))
      yield* pay("/one/monday")
      yield* pay("/other/monday", { payTo: other })
      shop.responses.set("/other/report", {
        required: required({ payTo: other }, {}, { routeTemplate: "/one/monday" })
      })
      yield* pay("/other/report", { payTo: other })
      assert.deepStrictEqual(yield* names, [routeTemplate, routeTemplate])
      assert.lengthOf(yield* items({ payTo: payment.payTo, limit: 1 }), 1)
      assert.lengthOf(yield* items({ payTo: other }), 1)
      // A shop that changes its payee has one entry.
      yield* TestClock.adjust("10 minutes")
      shop.responses.set("/one/monday", offer(other, "10000"))
      yield* pay("/one/monday", { payTo: other })
      assert.deepStrictEqual(yield* names, [routeTemplate])
    })
  )

  it.effect("lists one resource for one payment", () =>
    Effect.gen(function* () {
      const { names, pay, shop } = yield* open
      for (const path of ["/one", "/two", "/three"]) {
        shop.responses.set(path, { required: required() })
        yield* pay(path, { paymentId: "pay_same" })
      }
      assert.deepStrictEqual(yield* names, ["/one"])
    })
  )

  it.effect("requests a resource at most every ten minutes, and drops one that opts out or is gone", () =>
    Effect.gen(function* () {
      const { names, pay, shop } = yield* open
      const { extensions: _, ...plain } = required()
      shop.responses.set("/a", { required: required() }).set("/b", { required: required() })
      yield* pay("/a")
      yield* pay("/b")
      yield* pay("/a")
      assert.deepStrictEqual(yield* names, ["/a", "/b"])
      assert.strictEqual(shop.requests.filter((one) => one === "GET /a").length, 1)
      yield* TestClock.adjust("10 minutes")
      shop.responses.set("/a", { required: plain }).set("/b", { status: 410 })
      yield* pay("/a")
      yield* pay("/b")
      assert.deepStrictEqual(yield* names, [])
    })
  )

  it.effect("keeps a resource whose shop is down, or that a stranger names in a payment to himself", () =>
    Effect.gen(function* () {
      const { names, pay, shop } = yield* open
      shop.responses.set("/a", { required: required() })
      yield* pay("/a")
      assert.deepStrictEqual(yield* names, ["/a"])
      yield* TestClock.adjust("10 minutes")
      yield* pay("/a", { payTo: "0x9999999999999999999999999999999999999999" })
      assert.deepStrictEqual(yield* names, ["/a"])
      shop.responses.set("/a", { status: 503 })
      yield* pay("/a")
      assert.deepStrictEqual(yield* names, ["/a"])
    })
  )

  it.effect("forgets a resource that was not sold for 30 days", () =>
    Effect.gen(function* () {
      const { names, pay, shop } = yield* open
      shop.responses.set("/a", { required: required() })
      yield* pay("/a")
      assert.deepStrictEqual(yield* names, ["/a"])
      yield* TestClock.adjust("30 days")
      assert.deepStrictEqual(yield* names, [])
    })
  )

  const hostile: ReadonlyArray<readonly [string, OfferingShop.ShopResponse, Partial<SettledPayment>?]> = [
    ["of another payee", { required: required({ payTo: "0x9999999999999999999999999999999999999999" }) }],
    ["that costs more than was paid", { required: required({ amount: "10001" }) }],
    ["on another network", { required: required() }, { network: "eip155:10" }],
    ["without an extension", { required: { ...required(), extensions: {} } }],
    ["of version 1", { required: { ...required(), x402Version: 1 } }],
    ["that is free", { status: 200 }],
    ["that leads elsewhere", { status: 302, headers: { location: "http://127.0.0.1:1/" } }],
    ["that is no offer", { status: 402, headers: { "payment-required": "e30" } }],
    ["with a template beside its origin", { required: required({}, {}, { routeTemplate: "//evil.example/x" }) }],
    ["with a template of another origin", { required: required({}, {}, { routeTemplate: "https://evil.example" }) }],
    ["with a template that climbs", { required: required({}, {}, { routeTemplate: "/a/%252e%252e/%2e%2e/admin" }) }],
    ["with a template in another direction", { required: required({}, {}, { routeTemplate: "/a\u202Egpj" }) }],
    ["with a schema elsewhere", { required: required({}, {}, { schema: { $ref: "https://evil.example/s" } }) }],
    ["of a tool", { required: required({}, {}, { info: { input: { type: "mcp", toolName: "x" } } }) }],
    ["with invisible words", { required: required({}, {}, { schema: { title: "free\u200B\u202Eeerf" } }) }],
    ["with a giant schema", { required: required({}, {}, { schema: { title: "x".repeat(8200) } }) }],
    ["with a deep schema", { required: required({}, {}, { schema: nested(40) }) }]
  ]
  it.effect.each(hostile)("takes no resource %s", ([, response, change]) =>
    Effect.gen(function* () {
      const { names, pay, shop } = yield* open
      shop.responses.set("/a", response)
      yield* pay("/a", change)
      assert.deepStrictEqual(yield* names, [])
      assert.include(shop.requests, "GET /a")
    })
  )

  const unread = [
    "javascript:alert(1)",
    "file:///etc/passwd",
    "data:text/html,x",
    "https://shop.example/report",
    "http://127.0.0.1:1/report",
    "not a url"
  ]
  it.effect.each(unread)("sends nothing to %s", (resource) =>
    Effect.gen(function* () {
      const { names, pay, shop } = yield* open
      yield* pay("", { resource })
      yield* pay("", { resource: `${shop.origin.replace("//", "//user:secret@")}/a` })
      yield* pay(`/${"x".repeat(2048)}`)
      assert.deepStrictEqual(yield* names, [])
      assert.lengthOf(shop.requests, 1)
    })
  )

  it.effect("replaces what a text hides, and leaves out words that are malformed", () =>
    Effect.gen(function* () {
      const { items, pay, settle, shop } = yield* open
      const words = {
        description: `Free\u202E\u0000\n${"y".repeat(600)}`,
        mimeType: "text/html; <script>",
        serviceName: "\u0410pple",
        tags: "weather",
        iconUrl: "javascript:alert(1)"
      }
      shop.responses.set("/a", { required: required({}, words) })
      yield* pay("/a")
      yield* settle
      const [entry] = yield* items()
      assert.isDefined(entry)
      const { description, iconUrl, mimeType, serviceName, tags } = entry
      assert.strictEqual(description, `Free ${"y".repeat(493)}`)
      assert.deepStrictEqual([iconUrl, mimeType, serviceName, tags], [undefined, undefined, undefined, undefined])
    })
  )

  it.effect("takes the first hundred resources of an origin, whatever is bought later", () =>
    Effect.gen(function* () {
      const { page, pay, settle, shop } = yield* open
      for (let index = 0; index < 99; index++) {
        shop.responses.set(`/${index}`, { required: required() })
        yield* pay(`/${index}`)
        if (index % 10 === 9) yield* allRead(shop, index + 1)
      }
      yield* settle
      for (let index = 100; index < 110; index++) {
        shop.responses.set(`/${index}`, { required: required() })
        yield* pay(`/${index}`)
      }
      yield* allRead(shop, 110)
      const { items, pagination } = yield* page({ limit: 100 })
      assert.deepStrictEqual(pagination, { limit: 100, offset: 0, total: 100 })
      assert.include(items[0]?.resource, "/0")
      assert.isFalse(items.some(({ resource }) => resource.endsWith("/105")))
    })
  )
})

const nested = (depth: number): Record<string, unknown> => (depth === 0 ? {} : { items: nested(depth - 1) })

/** Waits until the shop has responded to this number of requests. */
const allRead = ({ requests }: OfferingShop.OfferingShop, count: number) =>
  Effect.repeat(
    Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve))),
    { until: () => requests.length >= count }
  )
