import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as fc from "fast-check"

import * as Base64Json from "../../../src/wire/http/Base64Json.ts"

const maximumBytes = 4096

describe("Base64Json", () => {
  it("reads what it writes, in the standard alphabet with padding", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = Base64Json.encode(value)
        assert.match(text, /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/)
        const json: unknown = JSON.parse(JSON.stringify(value))
        assert.deepStrictEqual(Result.getOrThrow(Base64Json.decode("X", text, 1e6)), json)
      })
    )
  })

  it("never throws, and refuses with words", () => {
    const texts = fc.oneof(
      fc.string({ unit: "binary", maxLength: 200 }),
      fc.base64String({ maxLength: 200 }),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString("base64"))
    )
    fc.assert(
      fc.property(texts, (text) => {
        const read = Base64Json.decode("PAYMENT-SIGNATURE", text, maximumBytes)
        assert.isTrue(Result.isSuccess(read) || read.failure.message.includes("PAYMENT-SIGNATURE"))
      })
    )
  })
})
