import { assert, describe, it } from "@effect/vitest"

import * as PaidShop from "./PaidShop.ts"
import * as TestPayer from "./TestPayer.ts"

describe("a request's form", () => {
  it.each([
    ["a text", (url: string) => url],
    ["a URL", (url: string) => new URL(url)],
    ["a Request", (url: string) => new Request(url)]
  ])("may be %s", async (_, input) => {
    await using shop = await PaidShop.open()
    const { fetch } = TestPayer.make()
    await fetch(input(`${shop.origin}/a?b=c`))
    for (const arrival of shop.arrivals) assert.include(arrival, { method: "GET", url: "/a?b=c" })
  })

  it.each([
    ["an object", () => ({ "x-key": "value" })],
    ["pairs", () => [["x-key", "value"]]],
    ["Headers", () => new Headers({ "x-key": "value" })],
    ["entries, which are read once", () => new Headers({ "x-key": "value" }).entries()],
    [
      "a generator, which is read once",
      function* () {
        yield ["x-key", "value"]
      }
    ]
  ] as unknown as ReadonlyArray<readonly [string, () => HeadersInit]>)("may have headers as %s", async (_, headers) => {
    await using shop = await PaidShop.open()
    const { fetch } = TestPayer.make()
    await fetch(shop.origin, { headers: headers() })
    assert.deepStrictEqual(
      shop.arrivals.map(({ headers }) => headers["x-key"]),
      ["value", "value"]
    )
  })

  it("may have options of null, as fetch allows", async () => {
    await using shop = await PaidShop.open()
    const { fetch } = TestPayer.make()
    const none = null as unknown as RequestInit
    assert.strictEqual((await fetch(shop.origin, none)).status, 200)
    assert.isFalse(await fetch.isOpen(shop.origin, none))
    assert.isDefined(await fetch.quote(shop.origin, none))
  })

  it("may override a Request's own fields", async () => {
    await using shop = await PaidShop.open()
    const { fetch } = TestPayer.make()
    const request = new Request(shop.origin, { method: "POST", body: "old", headers: { "x-old": "1" } })
    await fetch(request, { method: "PUT", body: "new", headers: { "x-new": "1" } })
    for (const { body, headers, method } of shop.arrivals) {
      assert.strictEqual(method, "PUT")
      assert.strictEqual(body.toString(), "new")
      assert.strictEqual(headers["x-new"], "1")
      assert.isUndefined(headers["x-old"])
    }
  })

  it.each([null, undefined])("keeps a Request's body where the options say %s", async (body) => {
    await using shop = await PaidShop.open()
    const request = new Request(shop.origin, { method: "POST", body: "three pizzas" })
    await TestPayer.make().fetch(request, { body } as RequestInit)
    assert.deepStrictEqual(
      shop.arrivals.map(({ body }) => body.toString()),
      ["three pizzas", "three pizzas"]
    )
  })

  it("keeps a Request's fields where the options are undefined", async () => {
    await using shop = await PaidShop.open()
    const reason = new Error("the caller has changed its mind")
    const controller = new AbortController()
    const seen: Array<RequestInit | undefined> = []
    const base: typeof globalThis.fetch = (input, init) => {
      if (seen.push(init) === 2) controller.abort(reason)
      return globalThis.fetch(input, init)
    }
    const request = new Request(shop.origin, { signal: controller.signal, credentials: "omit", cache: "no-store" })
    const init = { signal: undefined, credentials: undefined, cache: undefined, redirect: undefined, body: undefined }
    assert.strictEqual(
      await TestPayer.rejection(TestPayer.make({ base }).fetch(request, init as unknown as RequestInit)),
      reason
    )
    assert.include(seen[1], { credentials: "omit", cache: "no-store" })
  })

  it("passes on options that only the caller's fetch knows", async () => {
    await using shop = await PaidShop.open()
    const seen: Array<unknown> = []
    const base: typeof globalThis.fetch = (input, init) => {
      seen.push((init as { readonly dispatcher?: unknown } | undefined)?.dispatcher)
      const { dispatcher: _, ...rest } = init as RequestInit & { readonly dispatcher?: unknown }
      return globalThis.fetch(input, rest)
    }
    const { fetch } = TestPayer.make({ base })
    await fetch(shop.origin, { dispatcher: "mine" } as RequestInit)
    assert.deepStrictEqual(seen, ["mine", "mine"])
  })
})

describe("a Request that has been used", () => {
  const uses: ReadonlyArray<readonly [string, (request: Request) => Promise<unknown>]> = [
    ["was read", (request) => request.text()],
    ["was sent", (request) => globalThis.fetch(request)],
    [
      "was read in part",
      async (request) => {
        const reader = request.body?.getReader()
        await reader?.read()
        reader?.releaseLock()
      }
    ],
    ["is being read", async (request) => request.body?.getReader()]
  ]

  it.each(uses)("rejects as with fetch itself, before anything is sent: its body %s", async (_, use) => {
    await using shop = await PaidShop.open()
    const { fetch, signed } = TestPayer.make()
    const request = new Request(shop.origin, { method: "POST", body: "three pizzas" })
    await use(request)
    const { length } = shop.arrivals
    assert.instanceOf(await TestPayer.rejection(globalThis.fetch(request)), TypeError)
    assert.instanceOf(await TestPayer.rejection(fetch(request)), TypeError)
    assert.instanceOf(await TestPayer.rejection(fetch.quote(request)), TypeError)
    assert.strictEqual(shop.arrivals.length, length)
    assert.strictEqual(signed.length, 0)
  })

  it("is not paid a second time with an empty body", async () => {
    await using shop = await PaidShop.open()
    const { fetch, signed } = TestPayer.make()
    const request = new Request(shop.origin, { method: "POST", body: "three pizzas" })
    await fetch(request)
    assert.instanceOf(await TestPayer.rejection(fetch(request)), TypeError)
    assert.strictEqual(signed.length, 1)
  })

  it("is paid with the body that the options give", async () => {
    await using shop = await PaidShop.open()
    const request = new Request(shop.origin, { method: "POST", body: "three pizzas" })
    await request.text()
    await TestPayer.make().fetch(request, { body: "four" })
    assert.strictEqual(shop.paid()[0]?.body.toString(), "four")
  })

  it("is paid again if it has no body", async () => {
    await using shop = await PaidShop.open()
    const { fetch, signed } = TestPayer.make()
    const request = new Request(shop.origin)
    await fetch(request)
    await fetch(request)
    assert.strictEqual(signed.length, 2)
  })
})

/** A dispatcher as undici has them, which counts what goes through it to the platform's own. */
const dispatcher = () => {
  const platform = Reflect.get(globalThis, Symbol.for("undici.globalDispatcher.1")) as {
    readonly dispatch: (options: object, handler: object) => boolean
  }
  const sent: Array<object> = []
  const dispatch = (options: object, handler: object) => {
    sent.push(options)
    return platform.dispatch(options, handler)
  }
  return { dispatcher: { dispatch }, sent }
}

describe("a Request with its own dispatcher", () => {
  it.each(["GET", "POST"])("sends all requests of a paid %s through it", async (method) => {
    await using shop = await PaidShop.open()
    // The platform makes its own dispatcher for its first request.
    await globalThis.fetch(shop.origin)
    const { dispatcher: own, sent } = dispatcher()
    const body = method === "GET" ? null : "x"
    const request = new Request(`${shop.origin}/a#b`, { method, body, dispatcher: own } as RequestInit)
    assert.strictEqual((await TestPayer.make().fetch(request)).status, 200)
    assert.strictEqual(sent.length, 2)
  })
})
