import { createHash } from "node:crypto"

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { Entropy } from "../../src/platform/Entropy.ts"
import * as Binding from "../../src/protocol/Binding.ts"

/** The definition, computed apart from ours: sha256(challenge text, then the bytes of the salt). */
const tagOf = (challenge: string, salt: string) =>
  createHash("sha256").update(challenge, "ascii").update(Buffer.from(salt, "base64url")).digest("hex")

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")

describe("tag", () => {
  const vectors = [
    ["AAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAA"],
    ["challenge_of-a-shop1", "__________-_-_-_-_-_-w"],
    ["c".repeat(128), "s".repeat(43)]
  ] as const
  for (const [challenge, salt] of vectors) {
    it.effect(`of ${challenge.slice(0, 20)} and ${salt.slice(0, 22)}`, () =>
      Effect.gen(function* () {
        const tag = yield* Binding.tag({ challenge, salt })
        assert.strictEqual(tag.length, 32)
        assert.strictEqual(hex(tag), tagOf(challenge, salt))
      })
    )
  }

  it.effect("is this one, for ever", () =>
    Effect.gen(function* () {
      const tag = yield* Binding.tag({ challenge: "AAAAAAAAAAAAAAAA", salt: "AAAAAAAAAAAAAAAAAAAAAA" })
      assert.strictEqual(hex(tag), "c35e4f503d52e9d3477d1c0366e628ab3aaa4202ee48b06fb52a271fc7f1cc51")
    })
  )

  it.effect("changes with each character of challenge and salt", () =>
    Effect.gen(function* () {
      const challenge = "ABCDEFGHIJKLMNOP"
      const salt = "ABCDEFGHIJKLMNOPQRSTUQ"
      const tags = new Set([hex(yield* Binding.tag({ challenge, salt }))])
      for (let index = 0; index < challenge.length; index++) {
        const other = `${challenge.slice(0, index)}_${challenge.slice(index + 1)}`
        tags.add(hex(yield* Binding.tag({ challenge: other, salt })))
      }
      for (let index = 0; index < salt.length; index++) {
        const other = `${salt.slice(0, index)}_${salt.slice(index + 1)}`
        tags.add(hex(yield* Binding.tag({ challenge, salt: other })))
      }
      assert.strictEqual(tags.size, 1 + challenge.length + salt.length)
    })
  )
})

describe("make", () => {
  it.effect("keeps the challenge and adds 128 random bits", () =>
    Effect.gen(function* () {
      const bytes = Uint8Array.from({ length: 16 }, (_, index) => index)
      const binding = yield* Effect.provideService(Binding.make("the-challenge-1234"), Entropy, {
        bytes: (length) => bytes.subarray(0, length)
      })
      assert.deepStrictEqual(binding, {
        challenge: "the-challenge-1234",
        salt: Buffer.from(bytes).toString("base64url")
      })
    })
  )

  it.effect("is new each time", () =>
    Effect.gen(function* () {
      const salts = yield* Effect.forEach(Array.from({ length: 100 }), () => Binding.make("the-challenge-1234"))
      assert.strictEqual(new Set(salts.map(({ salt }) => salt)).size, 100)
    })
  )
})
