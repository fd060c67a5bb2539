import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as CryptoSelfTest from "../../src/crypto/CryptoSelfTest.ts"
import * as EvmCrypto from "../../src/crypto/EvmCrypto.ts"
import * as CryptoTable from "../CryptoTable.ts"

const { javaScript } = EvmCrypto

/** The same 65 bytes but for the last one. */
const spoiled = (bytes: Uint8Array | undefined) => bytes && bytes.with(64, (bytes[64] ?? 0) ^ 1)

const wrong: Readonly<Record<string, Partial<EvmCrypto.Shape>>> = {
  "does not hash": { keccak256: (bytes) => new Uint8Array(javaScript.keccak256(bytes)).fill(0, 31) },
  "does not recover.": { recoverPublicKey: () => undefined },
  "does not recover. ": { recoverPublicKey: (...given) => spoiled(javaScript.recoverPublicKey(...given)) },
  "does not refuse a malleated signature": {
    recoverPublicKey: (digest, signature, recovery) =>
      javaScript.recoverPublicKey(digest, signature, recovery) ?? new Uint8Array(65).fill(4)
  },
  "does not sign": { sign: () => undefined },
  "does not sign.": {
    sign: (digest, key) => {
      const other = javaScript.sign(digest, key)
      return other && Uint8Array.from([...other.subarray(0, 63), (other[63] ?? 0) ^ 1, other[64] ?? 0])
    }
  },
  "does not recover what it signed": { sign: (digest, key) => spoiled(javaScript.sign(digest, key)) },
  throws: {
    keccak256: () => {
      throw new Error("illegal instruction")
    }
  }
}

describe("CryptoSelfTest", () => {
  for (const crypto of CryptoTable.all) {
    it.effect(`passes ${crypto.name}`, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* CryptoSelfTest.verify(crypto), crypto)
      })
    )
  }

  for (const [what, deviation] of Object.entries(wrong)) {
    it.effect(`names the failed operation: ${what}`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(CryptoSelfTest.verify({ ...javaScript, name: "a broken build", ...deviation }))
        assert.strictEqual(error._tag, "Misconfigured")
        assert.include(
          `${error.message}.`,
          `the self-test of the cryptography by a broken build failed: it ${what.trim()}`
        )
      })
    )
  }

  it.effect("fails one that hashes only short texts", () =>
    Effect.gen(function* () {
      const keccak256 = (bytes: Uint8Array) => javaScript.keccak256(bytes.subarray(0, 136))
      assert.include((yield* Effect.flip(CryptoSelfTest.verify({ ...javaScript, keccak256 }))).message, "does not hash")
    })
  )
})
