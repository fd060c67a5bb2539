/** The form of a POST, by what its host still has of it: bytes, parsed fields, or nothing. */
import * as Effect from "effect/Effect"
import { assert, describe, it } from "vitest"

import type { GateRequest } from "../../../src/server/http/Decision.ts"
import * as UnreadBody from "../../../src/server/http/UnreadBody.ts"
import * as SubmittedForm from "../../../src/server/offer/SubmittedForm.ts"
import { maximumFormBytes } from "../../../src/server/shop/Paywall.ts"
import * as GateTestRequest from "../GateTestRequest.ts"

const urlencoded = "application/x-www-form-urlencoded"

const brokenOff = () => Promise.reject(new Error("gone"))

const read = async (change: Partial<GateRequest>, contentType = urlencoded, site = "same-origin") => {
  const headers = { "content-type": contentType, "content-length": "10", "sec-fetch-site": site }
  const request = { ...GateTestRequest.request("/order", headers, { method: "POST" }), ...change }
  const form = await Effect.runPromise(SubmittedForm.read(request))
  return form._tag === "Kept" ? [form.contentType, new TextDecoder().decode(form.body)] : form._tag
}

describe("the form of a request", () => {
  it("is its raw bytes with its own content type", async () => {
    const type = "multipart/form-data; boundary=xyz"
    assert.deepStrictEqual(await read({ rawBody: "a=1&a=%20" }), [urlencoded, "a=1&a=%20"])
    assert.deepStrictEqual(await read({ rawBody: "--xyz--\r\n" }, type), [type, "--xyz--\r\n"])
    assert.deepStrictEqual(await read({ body: "a=b" }, "text/plain"), ["text/plain", "a=b"])
  })

  it("is encoded anew from fields that the same parser reads alike", async () => {
    const body = { name: "Jürgen & co", tags: ["1", "2"], "x[y]": "=" }
    const [type, text = ""] = await read({ body }, `${urlencoded}; charset=utf-8`)
    assert.strictEqual(type, urlencoded)
    assert.deepStrictEqual(
      [...new URLSearchParams(text)],
      [
        ["name", "Jürgen & co"],
        ["tags", "1"],
        ["tags", "2"],
        ["x[y]", "="]
      ]
    )
  })

  it.each([
    ["nested fields", { body: { a: { b: "1" } } }, urlencoded],
    ["a list of one", { body: { a: ["1"] } }, urlencoded],
    ["a parsed form with files", { body: { a: "1" } }, "multipart/form-data; boundary=xyz"],
    ["no body at all", { body: undefined }, urlencoded],
    ["a form in another boundary", { rawBody: "--abc\r\n" }, "multipart/form-data; boundary=xyz"],
    ["a form in another encoding", { rawBody: "--abc\r\n" }, urlencoded],
    ["a form without a boundary", { rawBody: "--abc\r\n" }, "multipart/form-data"],
    ["a copy that a parser has read", { copy: () => Promise.resolve(undefined) }, urlencoded]
  ])("is gone: %s", async (_, change, type) => {
    assert.strictEqual(await read(change, type), "Unread")
  })

  it("of a body that broke off is no form", async () => {
    const failure = await read({ copy: brokenOff }).then(
      () => "a form",
      (error: unknown) => error
    )
    assert.instanceOf(failure, UnreadBody.BodyLost)
  })

  it("has a limit, by its declared length and by its own", async () => {
    const long = "x".repeat(maximumFormBytes + 1)
    assert.strictEqual(await read({ rawBody: long }), "TooLong")
    assert.strictEqual(await read({ body: { x: long } }), "TooLong")
    assert.strictEqual((await read({ rawBody: long.slice(1) })).length, 2)
  })

  it.each(["cross-site", "same-site", "none", ""])("of a page %j is not looked at", async (site) => {
    assert.strictEqual(await read({ rawBody: "a=1" }, urlencoded, site), "Elsewhere")
  })
})
