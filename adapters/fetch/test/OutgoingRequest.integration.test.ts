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
    ["Headers", () => new Headers({ "x-key": "value" })]
  ] as ReadonlyArray<readonly [string, () => HeadersInit]>)("may have headers as %s", async (_, headers) => {
    await using shop = await PaidShop.open()
    const { fetch } = TestPayer.make()
    await fetch(shop.origin, { headers: headers() })
    assert.deepStrictEqual(
      shop.arrivals.map(({ headers }) => headers["x-key"]),
      ["value", "value"]
    )
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
