import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as EvmCrypto from "../../src/crypto/EvmCrypto.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"

const digest = new Uint8Array(32).fill(7)
const key = new Uint8Array(32).fill(1)
const { keccak256, recoverPublicKey, sign } = EvmCrypto.javaScript
const signed = sign(digest, key) ?? new Uint8Array()
const signature = signed.subarray(0, 64)
const recovery = signed[64] ?? 255

const order = EvmHex.toBytes("0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141")

const publicKey = new Uint8Array(65).fill(4)
const library = (deviation: Partial<EvmCrypto.Primitives>) =>
  EvmCrypto.make("a test's", {
    keccak256,
    recover: () => publicKey,
    sign: () => ({ signature, recovery: 0 }),
    ...deviation
  })

describe("EvmCrypto", () => {
  it("does not ask a library about what is no signature", () => {
    const asked: Array<unknown> = []
    const { recoverPublicKey } = library({ recover: (...question) => (asked.push(question), publicKey) })
    assert.isUndefined(recoverPublicKey(digest, new Uint8Array(64), 0))
    assert.isUndefined(recoverPublicKey(digest, new Uint8Array(64).fill(255), 0))
    for (const word of [new Uint8Array(32), order]) {
      assert.isUndefined(recoverPublicKey(digest, Uint8Array.from([...word, ...signature.subarray(32)]), 0))
      assert.isUndefined(recoverPublicKey(digest, Uint8Array.from([...signature.subarray(0, 32), ...word]), 0))
    }
    assert.isUndefined(recoverPublicKey(digest, signature.subarray(1), 0))
    assert.isUndefined(recoverPublicKey(digest.subarray(1), signature, 0))
    assert.isUndefined(recoverPublicKey(digest, signature, 27))
    assert.deepStrictEqual(asked, [])
    assert.deepStrictEqual(recoverPublicKey(digest, signature, 1), publicKey)
    assert.deepStrictEqual(asked, [[digest, signature, 1]])
  })

  it("does not hand a library what is no key", () => {
    const { sign } = library({})
    for (const wrong of [new Uint8Array(32), order, new Uint8Array(32).fill(255), key.subarray(1)]) {
      assert.isUndefined(sign(digest, wrong))
    }
    assert.isUndefined(sign(digest.subarray(1), key))
    assert.strictEqual(sign(digest, key)?.length, 65)
  })

  it("takes a library's error, silence and nonsense for nobody", () => {
    const answers: ReadonlyArray<EvmCrypto.Primitives["recover"]> = [
      () => {
        throw new Error("no point")
      },
      () => null,
      () => new Uint8Array(33).fill(4),
      () => new Uint8Array(65).fill(2)
    ]
    for (const recover of answers) assert.isUndefined(library({ recover }).recoverPublicKey(digest, signature, 0))
  })

  it("passes on no signature that a token would refuse", () => {
    const highS = Uint8Array.from([...signature.subarray(0, 32), ...new Uint8Array(32).fill(0xee)])
    const answers: ReadonlyArray<EvmCrypto.Primitives["sign"]> = [
      () => {
        throw new Error("no key")
      },
      () => ({ signature: highS, recovery: 0 }),
      () => ({ signature: signature.subarray(1), recovery: 0 }),
      () => ({ signature, recovery: 2 })
    ]
    for (const sign of answers) assert.isUndefined(library({ sign }).sign(digest, key))
    assert.strictEqual(library({}).sign(digest, key)?.length, 65)
  })

  it.effect("is JavaScript where nothing else is provided", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* EvmCrypto.EvmCrypto, EvmCrypto.javaScript)
      const other = library({})
      const provided = yield* Effect.provideService(EvmCrypto.EvmCrypto, EvmCrypto.EvmCrypto, other)
      assert.strictEqual(provided, other)
      assert.strictEqual(yield* Effect.provide(EvmCrypto.EvmCrypto, EvmCrypto.layerJavaScript), EvmCrypto.javaScript)
    })
  )

  it("finds the key that signed", () => {
    assert.strictEqual(recoverPublicKey(digest, signature, recovery)?.length, 65)
    assert.notDeepEqual(
      recoverPublicKey(digest, signature, 1 - recovery),
      recoverPublicKey(digest, signature, recovery)
    )
  })
})
