import { assert, describe, it } from "@effect/vitest"
import * as Option from "effect/Option"
import * as fc from "fast-check"
import { bytesToHex, keccak256, recoverPublicKey, serializeSignature } from "viem"
import { sign } from "viem/accounts"

import type * as EvmCrypto from "../../src/crypto/EvmCrypto.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"
import * as CryptoTable from "../CryptoTable.ts"

const { all, word } = CryptoTable

const answer = (crypto: EvmCrypto.Shape, { digest, recovery, signature }: CryptoTable.Question) => {
  const key = crypto.recoverPublicKey(digest, signature, recovery)
  return key && EvmHex.fromBytes(key)
}

const signedBy = (crypto: EvmCrypto.Shape, digest: Uint8Array, key: Uint8Array) => {
  const signature = crypto.sign(digest, key)
  return signature && EvmHex.fromBytes(signature)
}

const agree = <A>(answers: ReadonlyArray<A>) => {
  for (const other of answers) assert.strictEqual(other, answers[0])
  return answers[0]
}

describe("every cryptography", () => {
  it("is tested: WebAssembly everywhere, the addon wherever one was built for the machine", () => {
    assert.strictEqual(Option.isSome(CryptoTable.native), CryptoTable.nativeIsExpected)
    assert.strictEqual(all.length, CryptoTable.nativeIsExpected ? 3 : 2)
    assert.strictEqual(new Set(all.map(({ name }) => name)).size, all.length)
  })

  it("hashes as viem does, over any number of blocks", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 700 }), (bytes) => {
        const expected = keccak256(bytes)
        for (const crypto of all) assert.strictEqual(EvmHex.fromBytes(crypto.keccak256(bytes)), expected, crypto.name)
      })
    )
    for (const length of [0, 1, 63, 64, 65, 135, 136, 137, 271, 272, 273]) {
      const bytes = new Uint8Array(length + 3).fill(length).subarray(3)
      for (const crypto of all) assert.strictEqual(EvmHex.fromBytes(crypto.keccak256(bytes)), keccak256(bytes))
    }
  })

  it("gives hashes that the next hash does not change", () => {
    for (const { keccak256, name } of all) {
      const first = keccak256(new Uint8Array(1))
      const before = EvmHex.fromBytes(first)
      keccak256(new Uint8Array(2))
      assert.strictEqual(EvmHex.fromBytes(first), before, name)
    }
  })

  it("finds who signed, as viem does", () =>
    fc.assert(
      fc.asyncProperty(CryptoTable.made, async (question) => {
        const signature = `${bytesToHex(question.signature)}${question.recovery === 0 ? "1b" : "1c"}` as const
        const expected = await recoverPublicKey({ hash: bytesToHex(question.digest), signature })
        for (const crypto of all) assert.strictEqual(answer(crypto, question), expected, crypto.name)
      }),
      { numRuns: 30 }
    ))

  it("gives one response to any question", () => {
    let [found, none] = [0, 0]
    fc.assert(
      fc.property(CryptoTable.questions, (question) => {
        const key = agree(all.map((crypto) => answer(crypto, question)))
        if (key === undefined) none++
        else found++
      }),
      { numRuns: 400 }
    )
    assert.isAbove(found, 40)
    assert.isAbove(none, 40)
  })

  it("recovers no key from the malleated twin of a signature", () => {
    fc.assert(
      fc.property(CryptoTable.made, (question) => {
        const twin = CryptoTable.malleate(question)
        for (const crypto of all) {
          assert.isUndefined(answer(crypto, twin), crypto.name)
          assert.isUndefined(answer(crypto, { ...twin, recovery: question.recovery }), crypto.name)
        }
      }),
      { numRuns: 30 }
    )
  })

  it("draws the same lines: r from 1 to the order, s from 1 to half of it", () => {
    const { order } = CryptoTable
    const digest = new Uint8Array(32).fill(7)
    // 1 is the x of a point on the curve, so it can be recovered from.
    const found = (crypto: EvmCrypto.Shape, r: bigint, s: bigint) =>
      answer(crypto, { digest, signature: Uint8Array.from([...word(r), ...word(s)]), recovery: 0 }) !== undefined
    for (const crypto of all) {
      assert.isTrue(found(crypto, 1n, 1n), crypto.name)
      assert.isTrue(found(crypto, 1n, order >> 1n), crypto.name)
      assert.isFalse(found(crypto, 1n, (order >> 1n) + 1n), crypto.name)
      assert.isFalse(found(crypto, 1n, order - 1n), crypto.name)
      for (const wrong of [0n, order, order + 1n, 2n ** 256n - 1n]) {
        assert.isFalse(found(crypto, wrong, 1n), crypto.name)
        assert.isFalse(found(crypto, 1n, wrong), crypto.name)
      }
    }
  })

  it("signs as viem does, the same every time", () =>
    fc.assert(
      fc.asyncProperty(CryptoTable.keys, CryptoTable.digests, async (key, digest) => {
        const parts = await sign({ hash: bytesToHex(digest), privateKey: bytesToHex(word(key)) })
        const expected = serializeSignature(parts).slice(0, 130)
        const signature = agree(all.map((crypto) => signedBy(crypto, digest, word(key))))
        assert.strictEqual(signature, `${expected}${parts.yParity === 0 ? "00" : "01"}`)
      }),
      { numRuns: 40 }
    ))

  it("signs nothing with what is no key, and nothing that is no digest", () => {
    const { order } = CryptoTable
    const digest = new Uint8Array(32).fill(7)
    for (const crypto of all) {
      for (const key of [0n, order, order + 1n, 2n ** 256n - 1n]) {
        assert.isUndefined(crypto.sign(digest, word(key)), crypto.name)
      }
      for (const length of [0, 31, 33, 64]) {
        assert.isUndefined(crypto.sign(digest, new Uint8Array(length).fill(1)), crypto.name)
        assert.isUndefined(crypto.sign(new Uint8Array(length), word(1n)), crypto.name)
      }
    }
  })

  it("leaves what it is given as it was", () => {
    fc.assert(
      fc.property(CryptoTable.made, CryptoTable.keys, ({ digest, recovery, signature }, key) => {
        const given = [digest, signature, word(key)] as const
        const copies = given.map((bytes) => bytes.slice())
        for (const crypto of all) {
          crypto.recoverPublicKey(digest, signature, recovery)
          crypto.sign(digest, given[2])
          crypto.keccak256(digest)
          assert.deepStrictEqual([...given], copies, crypto.name)
        }
      }),
      { numRuns: 10 }
    )
  })
})
