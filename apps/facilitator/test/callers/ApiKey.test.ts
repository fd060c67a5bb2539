import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

import * as ApiKey from "../../src/callers/ApiKey.ts"

const plain = fc
  .string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)), minLength: 16 })
  .filter((text) => !text.startsWith("sha256:"))

describe("a key", () => {
  it("is known by its digest: the SHA-256 test vector", () => {
    const digest = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert.isTrue(ApiKey.isSame(ApiKey.digestOf("abc"), ApiKey.fromText(digest)))
    assert.isTrue(ApiKey.isSame(ApiKey.digestOf("abc"), ApiKey.fromText(digest.replace("ba78", "BA78"))))
    assert.isFalse(ApiKey.isSame(ApiKey.digestOf("abd"), ApiKey.fromText(digest)))
  })

  it("is not accepted by its digest: the list of digests gives no access", () => {
    const digest = `sha256:${"ab".repeat(32)}`
    assert.isFalse(ApiKey.isSame(ApiKey.digestOf(digest), ApiKey.fromText(digest)))
    assert.isFalse(ApiKey.plainPattern.test(digest))
  })

  it("is recognised whether configured plain or by its digest, and no other is", () =>
    fc.assert(
      fc.property(plain, plain, (one, other) => {
        assert.isTrue(ApiKey.plainPattern.test(one))
        assert.isTrue(ApiKey.isSame(ApiKey.fromText(one), ApiKey.digestOf(one)))
        assert.strictEqual(ApiKey.isSame(ApiKey.fromText(one), ApiKey.digestOf(other)), one === other)
      })
    ))

  it("shows neither itself nor its digest", () => {
    const digest = ApiKey.digestOf("abc")
    const name = ApiKey.nameOf(digest)
    assert.strictEqual(JSON.stringify({ digest }), '{"digest":"<redacted>"}')
    assert.match(name, /^key-[0-9a-f]{12}$/)
    assert.notInclude(name, "ba7816bf8f01")
    assert.notStrictEqual(name, ApiKey.nameOf(ApiKey.digestOf("abd")))
  })
})
