import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { Entropy, identifier } from "../../src/platform/Entropy.ts"

describe("identifier", () => {
  it("is 16 bytes as 22 characters of base64url", () => {
    const bytes = Uint8Array.from({ length: 16 }, (_, index) => 255 - index)
    const asked: Array<number> = []
    const name = identifier({ bytes: (length) => (asked.push(length), bytes) })
    assert.strictEqual(name, Buffer.from(bytes).toString("base64url"))
    assert.match(name, /^[A-Za-z0-9_-]{22}$/)
    assert.deepStrictEqual(asked, [16])
  })

  it.effect("never comes twice from the platform's generator", () =>
    Effect.gen(function* () {
      const entropy = yield* Entropy
      const names = Array.from({ length: 10_000 }, () => identifier(entropy))
      assert.strictEqual(new Set(names).size, names.length)
      assert.strictEqual(entropy.bytes(5).length, 5)
    })
  )
})

describe("the platform's generator", () => {
  it.effect("gives any length, and bytes that stay the caller's own", () =>
    Effect.gen(function* () {
      const entropy = yield* Entropy
      const lengths = [16, 1, 0, 1007, 1024, 1025, 24, 1000, 5000, 16]
      const draws = lengths.map((length) => entropy.bytes(length))
      assert.deepStrictEqual(
        draws.map(({ length }) => length),
        lengths
      )
      const before = draws.map((bytes) => bytes.slice())
      for (let index = 0; index < 200; index++) entropy.bytes(24).fill(index)
      assert.deepStrictEqual(draws, before)
      for (const bytes of draws.filter(({ length }) => length >= 16)) assert.isTrue(bytes.some((byte) => byte !== 0))
    })
  )

  it.effect("hands out nothing twice, across any lengths", () =>
    Effect.gen(function* () {
      const entropy = yield* Entropy
      const seen = new Set<string>()
      let words = 0
      for (let index = 0; index < 3_000; index++) {
        const bytes = entropy.bytes(index % 97)
        for (let at = 0; at + 8 <= bytes.length; at++, words++) seen.add(bytes.subarray(at, at + 8).join())
      }
      assert.strictEqual(seen.size, words)
    })
  )
})
