import { Buffer } from "node:buffer"

import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as fc from "fast-check"

import * as Base64Text from "../../../src/protocol/text/Base64Text.ts"

const fault = (written: string) => Result.getOrThrow(Result.flip(Base64Text.decode(written)))

describe("Base64Text", () => {
  it("writes any text as any other base64 does, and reads it again", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: "grapheme" })), (text) => {
        const written = Base64Text.encode(text)
        assert.strictEqual(written, Buffer.from(text).toString("base64"))
        assert.strictEqual(Result.getOrThrow(Base64Text.decode(written)), text)
      })
    )
  })

  it("fills words into the places of a mark as the whole text would be written", () => {
    const part = fc.oneof(fc.string({ maxLength: 7 }), fc.string({ unit: "grapheme", maxLength: 7 }))
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 5 }),
        fc.stringMatching(/^[a-z0-9]{1,9}$/),
        (parts, word) => {
          const mark = "#".repeat(word.length)
          const text = parts.map((one) => one.replaceAll("#", "-")).join(mark)
          const filled = Buffer.from(text.replaceAll(mark, word)).toString("base64")
          assert.strictEqual(Base64Text.filling(text, mark)(word), filled)
        }
      )
    )
  })

  it("reads the bytes of UTF-8, and says of others that they are no text", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const isText = Buffer.from(Buffer.from(bytes).toString("utf8")).equals(Buffer.from(bytes))
        const decoded = Base64Text.decode(Buffer.from(bytes).toString("base64"))
        assert.strictEqual(Result.isSuccess(decoded), isText)
        if (Result.isFailure(decoded)) assert.strictEqual(decoded.failure, "not_text")
      })
    )
    assert.strictEqual(fault("/w=="), "not_text")
  })

  it("refuses what is padded wrongly, or has other characters", () => {
    for (const written of [
      "a",
      "ab",
      "abc",
      "a===",
      "====",
      "ab=c",
      "ab==cd==",
      "ab-_",
      "ab c",
      " abcd",
      "abcd\n",
      "äbcd"
    ]) {
      assert.strictEqual(fault(written), "not_base64", JSON.stringify(written))
    }
    assert.strictEqual(Result.getOrThrow(Base64Text.decode("")), "")
  })
})
