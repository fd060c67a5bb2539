import { Buffer } from "node:buffer"

import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as fc from "fast-check"

import { openPayload, sealPayload } from "../../src/protocol/PaymentPayload.ts"

const envelope = (payload: string) => ({ protocolVersion: 2 as const, scheme: "exact", network: "eip155:1", payload })
const open = (payload: string) => openPayload(envelope(payload))
const base64 = (text: string | Uint8Array) => Buffer.from(text as string).toString("base64")

const refused = (payload: string) => {
  const error = Result.getOrThrow(Result.flip(open(payload)))
  return `${error.reason} ${error.detail}: ${error.message}`
}

describe("sealPayload and openPayload", () => {
  it("bring back any JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6, stringUnit: "binary" }), (value) => {
        const sealed = sealPayload("exact", "ton:mainnet", value)
        assert.deepStrictEqual(Result.getOrThrow(openPayload(sealed)), JSON.parse(JSON.stringify(value)))
      })
    )
  })

  it("seal in the standard alphabet, padded, as any other base64 does", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
        assert.strictEqual(sealPayload("exact", "n", value).payload, base64(JSON.stringify(value)))
      })
    )
  })

  it("make the four fields of the envelope", () => {
    assert.deepStrictEqual(sealPayload("exact", "ton:mainnet", {}), {
      protocolVersion: 2,
      scheme: "exact",
      network: "ton:mainnet",
      payload: "e30="
    })
  })
})

describe("openPayload", () => {
  it("reads base64url and base64, padded or not, alike", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
        const padded = base64(JSON.stringify(value))
        const url = padded.replaceAll("+", "-").replaceAll("/", "_")
        const expected: unknown = JSON.parse(JSON.stringify(value))
        for (const text of [padded, url, padded.replaceAll("=", ""), url.replaceAll("=", "")]) {
          if (/[+/].*[-_]|[-_].*[+/]/.test(text)) continue
          assert.deepStrictEqual(Result.getOrThrow(open(text)), expected)
        }
      })
    )
  })

  const garbage = {
    "nothing at all": "",
    "a lonely character": "A",
    "a lonely character, padded": "A===",
    "too much padding": "e30===",
    "padding inside": "e3=0",
    "both alphabets": `${base64('{"a":"???>>>"}').replace("/", "_")}+`,
    "a space inside": "e3 0=",
    "a line end": "e30=\n",
    "other characters": "%7B%7D",
    "raw JSON": "{}",
    "no JSON": base64("hello"),
    "an empty text": base64(""),
    "two JSON values": base64("{}{}"),
    "UTF-16": base64(Buffer.from("{}", "utf16le")),
    "broken UTF-8": base64(Uint8Array.of(0x22, 0xc3, 0x28, 0x22)),
    "a surrogate in UTF-8": base64(Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22))
  }
  for (const [name, payload] of Object.entries(garbage)) {
    it(`refuses ${name}`, () => assert.include(refused(payload), "malformed payload_encoding"))
  }

  it("never throws, whatever comes", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.base64String(), fc.string()), (text) => {
        const result = open(text)
        assert.isTrue(Result.isSuccess(result) || result.failure.reason === "malformed")
      }),
      { numRuns: 5_000 }
    )
  })

  it("refuses what is nested deeper than 8, before it is walked", () => {
    assert.isTrue(Result.isSuccess(open(base64("[".repeat(8) + "]".repeat(8)))))
    assert.include(refused(base64("[".repeat(9) + "]".repeat(9))), "deeper than 8")
    assert.include(refused(base64(`{"x":${"[".repeat(10_000)}${"]".repeat(10_000)}}`)), "deeper than 8")
  })

  it("__proto__ stays a name", () => {
    const json = Result.getOrThrow(open(base64('{"__proto__":{"polluted":true}}')))
    assert.strictEqual(Object.getPrototypeOf(json), Object.prototype)
    assert.isFalse("polluted" in {})
  })
})
