import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { Hash } from "../../../src/platform/Hash.ts"
import * as KeyedDigest from "../../../src/server/shop/KeyedDigest.ts"

const keyedBy = (secret: string) =>
  Effect.map(Hash, (hash) => {
    let made = 0
    const counting = {
      ...hash,
      hmacSha256: (key: Uint8Array, data: Uint8Array) => {
        made++
        return hash.hmacSha256(key, data)
      }
    }
    return { keyed: { hash: counting, secret: new TextEncoder().encode(secret) }, made: () => made }
  })

describe("a keyed digest", () => {
  it.effect("is the same for the same fields, remembered or not, and another for another secret or purpose", () =>
    Effect.gen(function* () {
      const { keyed } = yield* keyedBy("a secret")
      const other = yield* keyedBy("another secret")
      const name = yield* KeyedDigest.make(keyed, ["place", "127.0.0.1"])
      assert.match(name, /^[A-Za-z0-9_-]{43}$/)
      assert.strictEqual(yield* KeyedDigest.remembered(keyed, ["place", "127.0.0.1"]), name)
      const names = [
        name,
        yield* KeyedDigest.remembered(other.keyed, ["place", "127.0.0.1"]),
        yield* KeyedDigest.remembered(keyed, ["route", "127.0.0.1"]),
        yield* KeyedDigest.remembered(keyed, ["place", "127.0.0.1", null])
      ]
      assert.strictEqual(new Set(names).size, 4)
    })
  )

  it.effect("is made once, as long as there are no thousands of others", () =>
    Effect.gen(function* () {
      const { keyed, made } = yield* keyedBy("a secret of many")
      for (let round = 0; round < 3; round++) yield* KeyedDigest.remembered(keyed, ["place", "first"])
      assert.strictEqual(made(), 1)
      for (let index = 0; index < 5_000; index++) yield* KeyedDigest.remembered(keyed, ["place", `${index}`])
      yield* KeyedDigest.remembered(keyed, ["place", "4999"])
      assert.strictEqual(made(), 5_001)
      yield* KeyedDigest.remembered(keyed, ["place", "first"])
      assert.strictEqual(made(), 5_002)
    })
  )

  it.effect("is made anew for a long message: strangers choose the targets of requests", () =>
    Effect.gen(function* () {
      const { keyed, made } = yield* keyedBy("a secret for long ones")
      const names: Array<string> = []
      for (const length of [512, 512, 513, 513]) names.push(yield* KeyedDigest.ofText(keyed, "x".repeat(length)))
      assert.strictEqual(made(), 3)
      assert.strictEqual(names[0], names[1])
      assert.strictEqual(names[2], names[3])
      assert.notStrictEqual(names[1], names[2])
    })
  )
})
