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
