import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { javaScript } from "../../src/crypto/EvmCrypto.ts"
import * as NativeCrypto from "../../src/crypto/NativeCrypto.ts"

/** The functions of an addon, computed by the JavaScript that it replaces, so that this runs without an addon. */
const secp256k1 = {
  ecdsaRecover: (signature: Uint8Array, recovery: number, digest: Uint8Array) => {
    const key = javaScript.recoverPublicKey(digest, signature, recovery)
    if (key === undefined) throw new Error("no point")
    return key
  },
  ecdsaSign: (digest: Uint8Array, key: Uint8Array) => {
    const signed = javaScript.sign(digest, key) ?? new Uint8Array(65)
    return { signature: signed.subarray(0, 64), recid: signed[64] ?? 0 }
  }
}

const keccak = (squeeze: (bytes: Uint8Array) => Uint8Array) => () => {
  let absorbed = new Uint8Array()
  return {
    _state: {
      initialize: () => void (absorbed = new Uint8Array()),
      absorb: (bytes: Uint8Array) => void (absorbed = bytes.slice()),
      absorbLastFewBits: () => undefined,
      squeeze: () => squeeze(absorbed)
    }
  }
}

const madeOf = (modules: Readonly<Record<string, unknown>>) =>
  NativeCrypto.fromLoader((name) => {
    if (!(name in modules)) throw new Error(`Cannot find module '${name}'`)
    return modules[name]
  })

describe("NativeCrypto", () => {
  it.effect("is made of both addons", () =>
    Effect.gen(function* () {
      const made = yield* madeOf({
        "secp256k1/bindings.js": secp256k1,
        "keccak/bindings.js": keccak(javaScript.keccak256)
      })
      assert.strictEqual(made.name, "native secp256k1 and Keccak")
    })
  )

  it.effect("hashes in JavaScript where the addon for that is missing, is another, or is wrong", () =>
    Effect.gen(function* () {
      const others: ReadonlyArray<Readonly<Record<string, unknown>>> = [
        {},
        { "keccak/bindings.js": {} },
        { "keccak/bindings.js": () => ({}) },
        { "keccak/bindings.js": () => ({ _state: { initialize: () => undefined } }) },
        { "keccak/bindings.js": keccak(() => new Uint8Array(32)) }
      ]
      for (const other of others) {
        const made = yield* madeOf({ "secp256k1/bindings.js": secp256k1, ...other })
        assert.strictEqual(made.name, "native secp256k1")
        assert.strictEqual(made.keccak256, javaScript.keccak256)
      }
    })
  )

  it.effect("is none where the addon of the curve is missing, is another, or is wrong", () =>
    Effect.gen(function* () {
      const others: ReadonlyArray<readonly [Readonly<Record<string, unknown>>, RegExp]> = [
        [{}, /secp256k1 cannot be used here: .*Cannot find module/],
        [{ "secp256k1/bindings.js": undefined }, /secp256k1 cannot be used here/],
        [{ "secp256k1/bindings.js": { ecdsaRecover: secp256k1.ecdsaRecover } }, /secp256k1 cannot be used here/],
        [{ "secp256k1/bindings.js": { ...secp256k1, ecdsaRecover: () => new Uint8Array(65).fill(4) } }, /not recover/],
        [{ "secp256k1/bindings.js": { ...secp256k1, ecdsaSign: () => ({}) } }, /not sign|throws/]
      ]
      for (const [modules, expected] of others) {
        assert.match((yield* Effect.flip(madeOf(modules))).message, expected)
      }
    })
  )
})
