import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"

import * as Hash from "../../src/platform/Hash.ts"

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")
const ascii = (text: string) => new TextEncoder().encode(text)

const node = Hash.fromNode()
const web = Hash.fromWebCrypto(globalThis.crypto)
const implementations = { "node:crypto": node ?? web, WebCrypto: web }

describe("known digests", () => {
  it("this platform has node:crypto", () => assert.isDefined(node))

  for (const [name, hash] of Object.entries(implementations)) {
    it.effect(`${name}: SHA-256 of "abc" and of nothing (FIPS 180-4)`, () =>
      Effect.gen(function* () {
        const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        const nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        assert.strictEqual(hex(yield* hash.sha256(ascii("abc"))), abc)
        assert.strictEqual(hex(yield* hash.sha256(new Uint8Array())), nothing)
      })
    )

    it.effect(`${name}: HMAC-SHA-256 of test cases 2 and 6 (RFC 4231)`, () =>
      Effect.gen(function* () {
        const second = yield* hash.hmacSha256(ascii("Jefe"), ascii("what do ya want for nothing?"))
        assert.strictEqual(hex(second), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        const longKey = new Uint8Array(131).fill(0xaa)
        const sixth = yield* hash.hmacSha256(longKey, ascii("Test Using Larger Than Block-Size Key - Hash Key First"))
        assert.strictEqual(hex(sixth), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
      })
    )
  }
})

describe("node:crypto and WebCrypto", () => {
  it("agree on any message and key", async () => {
    const bytes = fc.uint8Array({ maxLength: 300 })
    const key = fc.uint8Array({ minLength: 1, maxLength: 200 })
    await fc.assert(
      fc.asyncProperty(key, bytes, async (secret, message) => {
        const digests = ({ hmacSha256, sha256 }: Hash.HashFunctions) =>
          Effect.map(Effect.all([sha256(message), hmacSha256(secret, message)]), (all) => all.map(hex))
        assert.deepStrictEqual(
          await Effect.runPromise(digests(implementations["node:crypto"])),
          await Effect.runPromise(digests(web))
        )
      }),
      { numRuns: 200 }
    )
  })
})

describe("the service", () => {
  it.effect("has a default", () =>
    Effect.gen(function* () {
      const hash = yield* Hash.Hash
      assert.strictEqual((yield* hash.sha256(ascii("abc"))).length, 32)
    })
  )

  it.effect("can be replaced", () =>
    Effect.gen(function* () {
      const fake = { sha256: () => Effect.succeed(ascii("x")), hmacSha256: () => Effect.succeed(ascii("y")) }
      const digest = yield* Effect.provideService(
        Effect.flatMap(Hash.Hash, (hash) => hash.sha256(ascii("abc"))),
        Hash.Hash,
        fake
      )
      assert.strictEqual(hex(digest), "78")
    })
  )
})
