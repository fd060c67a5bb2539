import { assert, describe, it } from "@effect/vitest"

import * as PaidShop from "./PaidShop.ts"
import * as TestPayer from "./TestPayer.ts"

const bodies: ReadonlyArray<readonly [string, () => BodyInit, string, string | undefined]> = [
  ["a string", () => "text", "text", "text/plain;charset=UTF-8"],
  ["bytes", () => new Uint8Array([1, 2, 255]), "\u0001\u0002\u00ff", undefined],
  ["a part of a buffer", () => new Uint8Array([0, 7, 0]).subarray(1, 2), "\u0007", undefined],
  ["an ArrayBuffer", () => new Uint8Array([3, 4]).buffer, "\u0003\u0004", undefined],
  ["a Blob", () => new Blob(["blob"], { type: "image/png" }), "blob", "image/png"],
  ["a Blob without a type", () => new Blob(["blob"]), "blob", undefined],
  ["parameters", () => new URLSearchParams({ a: "b c" }), "a=b+c", "application/x-www-form-urlencoded;charset=UTF-8"],
  ["a stream", () => new Blob(["streamed"]).stream(), "streamed", undefined]
]

/** A form as npm's undici and formdata-polyfill have them: of no class of the platform. */
class PackageForm {
  readonly [Symbol.toStringTag] = "FormData"
  readonly value: string
  constructor(value: string) {
    this.value = value
  }
  entries() {
    const file = { name: "data.csv", type: "text/csv", arrayBuffer: () => new Blob(["1;2"]).arrayBuffer() }
    return [
      ["a", this.value],
      ["file", file]
    ].values()
  }
}

async function* twoChunks() {
  yield new TextEncoder().encode("one ")
  yield new TextEncoder().encode("two")
}

describe("a request's body", () => {
  it.each(bodies)("of %s is the same in both requests", async (_, body, text, contentType) => {
    await using shop = await PaidShop.open()
    const { fetch } = TestPayer.make()
    await fetch(shop.origin, { method: "POST", body: body(), duplex: "half" } as RequestInit)
    assert.strictEqual(shop.arrivals.length, 2)
    for (const arrival of shop.arrivals) {
      assert.strictEqual(arrival.method, "POST")
      assert.strictEqual(arrival.body.toString("latin1"), text)
      assert.strictEqual(arrival.headers["content-type"], contentType)
    }
  })

  it("of a form has the same boundary in both requests", async () => {
    await using shop = await PaidShop.open()
    const { fetch } = TestPayer.make()
    const form = new FormData()
    form.set("name", "value")
    form.set("file", new Blob(["content"], { type: "text/csv" }), "data.csv")
    await fetch(shop.origin, { method: "POST", body: form })
    const [unpaid, paid] = shop.arrivals
    assert.match(unpaid?.headers["content-type"] ?? "", /^multipart\/form-data; ?boundary=/)
    assert.strictEqual(paid?.headers["content-type"], unpaid?.headers["content-type"])
    assert.deepStrictEqual(paid?.body, unpaid?.body)
    assert.include(paid?.body.toString(), "data.csv")
  })

  it("of a form keeps the content type that the caller has set", async () => {
    await using shop = await PaidShop.open()
    const { fetch } = TestPayer.make()
    await fetch(shop.origin, { method: "POST", body: new FormData(), headers: { "content-type": "x/y" } })
    for (const { headers } of shop.arrivals) assert.strictEqual(headers["content-type"], "x/y")
  })

  it("of a form of a package's own class is sent as a form, and two of them are two requests", async () => {
    await using shop = await PaidShop.open(PaidShop.paidWith((response) => void response.writeHead(500).end()))
    const { fetch, signed } = TestPayer.make({ limits: { perDay: "$1" } })
    const send = (value: string) =>
      fetch(shop.origin, { method: "POST", body: new PackageForm(value) as unknown as FormData })
    assert.strictEqual((await send("one")).status, 500)
    assert.strictEqual((await send("two")).status, 500)
    assert.strictEqual(signed.length, 2)
    const [one] = shop.arrivals
    assert.match(one?.headers["content-type"] ?? "", /^multipart\/form-data; ?boundary=/)
    assert.include(one?.body.toString(), '"a"\r\n\r\none')
    assert.include(one?.body.toString(), 'filename="data.csv"\r\nContent-Type: text/csv\r\n\r\n1;2')
  })

  it.each([
    ["an object", {}],
    ["a form that is a stream of Node's old kind", { [Symbol.toStringTag]: "FormData", pipe: () => 0, on: () => 0 }]
  ])("of %s is declined before anything is sent", async (_, body) => {
    await using shop = await PaidShop.open()
    const { fetch, signed } = TestPayer.make()
    const error = await TestPayer.rejection(fetch(shop.origin, { method: "POST", body: body as unknown as FormData }))
    assert.include(error, { _tag: "PaymentDeclined", rule: "body_not_repeatable" })
    assert.strictEqual(shop.arrivals.length, 0)
    assert.strictEqual(signed.length, 0)
  })

  it.each(bodies)("of a Request with %s is the same in both requests", async (_, body, text, contentType) => {
    await using shop = await PaidShop.open()
    const { fetch } = TestPayer.make()
    await fetch(new Request(shop.origin, { method: "PUT", body: body(), duplex: "half" } as RequestInit))
    assert.strictEqual(shop.arrivals.length, 2)
    for (const arrival of shop.arrivals) {
      assert.strictEqual(arrival.method, "PUT")
      assert.strictEqual(arrival.body.toString("latin1"), text)
      assert.strictEqual(arrival.headers["content-type"], contentType)
    }
  })

  it("of an asynchronous iterable is the same in both requests", async () => {
    await using shop = await PaidShop.open()
    const { fetch } = TestPayer.make()
    await fetch(shop.origin, { method: "POST", body: twoChunks(), duplex: "half" } as unknown as RequestInit)
    assert.deepStrictEqual(
      shop.arrivals.map(({ body }) => body.toString()),
      ["one two", "one two"]
    )
  })

  it("is what it was at the call, whatever the caller does with its buffer afterwards", async () => {
    await using shop = await PaidShop.open()
    const body = new Uint8Array([1])
    const parameters = new URLSearchParams({ a: "1" })
    const headers = new Headers({ "x-a": "1" })
    const { fetch } = TestPayer.make()
    const calls = [
      fetch(shop.origin, { method: "POST", body, headers }),
      fetch(shop.origin, { method: "POST", body: parameters })
    ]
    body[0] = 2
    parameters.set("a", "2")
    headers.set("x-a", "2")
    await Promise.all(calls)
    const bodies = shop.paid().map(({ body }) => body.toString("latin1"))
    assert.deepStrictEqual(new Set(bodies), new Set(["\u0001", "a=1"]))
    assert.isTrue(shop.arrivals.every(({ headers }) => headers["x-a"] !== "2"))
  })

  it("that is a longer stream than allowed is declined before anything is sent", async () => {
    await using shop = await PaidShop.open()
    const { fetch, signed } = TestPayer.make({ maxBodyBytes: 10 })
    const post = (text: string) =>
      fetch(shop.origin, { method: "POST", body: new Blob([text]).stream(), duplex: "half" } as RequestInit)
    assert.strictEqual((await post("ten bytes!")).status, 200)
    const error = await TestPayer.rejection(post("eleven byte"))
    assert.include(error, { _tag: "PaymentDeclined", rule: "body_not_repeatable" })
    assert.strictEqual(signed.length, 1)
    assert.strictEqual(shop.arrivals.length, 2)
  })

  it("that is an endless stream is not read to its end", async () => {
    const { fetch } = TestPayer.make()
    let isCancelled = false
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
      cancel: () => void (isCancelled = true)
    })
    const error = await TestPayer.rejection(
      fetch("http://127.0.0.1:9/", { method: "POST", body, duplex: "half" } as RequestInit)
    )
    assert.include(error, { rule: "body_not_repeatable" })
    assert.isTrue(isCancelled)
  })

  it("that fails to stream fails the call with its own error", async () => {
    const { fetch } = TestPayer.make()
    const broken = new Error("the disk is broken")
    const body = new ReadableStream({ pull: (controller) => controller.error(broken) })
    const error = await TestPayer.rejection(
      fetch("http://127.0.0.1:9/", { method: "POST", body, duplex: "half" } as RequestInit)
    )
    assert.strictEqual(error, broken)
  })
})
