/**
 * All implementations of the cryptography, and inputs for them: valid ones, malformed ones, and those at the edges of valid
 * signatures.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as fc from "fast-check"

import * as EvmCrypto from "../src/crypto/EvmCrypto.ts"
import * as NativeCrypto from "../src/crypto/NativeCrypto.ts"
import * as WasmCrypto from "../src/crypto/WasmCrypto.ts"
import * as EvmHex from "../src/primitives/EvmHex.ts"

/** The machines for which the package secp256k1 brings a built addon. */
const prebuilt = ["linux-x64", "darwin-arm64", "win32-x64"]

export const nativeIsExpected: boolean = prebuilt.includes(`${process.platform}-${process.arch}`)

export const native: Option.Option<EvmCrypto.Shape> = await Effect.runPromise(Effect.option(NativeCrypto.make))

/** The reference first. */
export const all: ReadonlyArray<EvmCrypto.Shape> = [EvmCrypto.javaScript, WasmCrypto.wasm, ...Option.toArray(native)]

export const { n: order } = secp256k1.Point.CURVE()

export const word = (value: bigint): Uint8Array => EvmHex.toBytes(`0x${EvmHex.toWord(value)}`)

export const digests = fc.uint8Array({ minLength: 32, maxLength: 32 })

/** Valid keys. */
export const keys = fc.oneof(
  { weight: 4, arbitrary: fc.bigInt(1n, order - 1n) },
  { weight: 1, arbitrary: fc.constantFrom(1n, 2n, order >> 1n, order - 2n, order - 1n) }
)

const halfOrder = order >> 1n
const edges = [
  0n,
  1n,
  halfOrder - 1n,
  halfOrder,
  halfOrder + 1n,
  halfOrder + 2n,
  order - 1n,
  order,
  order + 1n,
  2n ** 256n - 1n
]
const scalars = fc.oneof(fc.constantFrom(...edges), fc.bigInt(0n, 2n ** 256n - 1n), fc.bigInt(1n, halfOrder))

/** The input of a recovery. */
export interface Question {
  readonly digest: Uint8Array
  readonly signature: Uint8Array
  readonly recovery: number
}

const joined = (r: Uint8Array, s: Uint8Array) => Uint8Array.from([...r, ...s])

/** A valid signature. */
export const made: fc.Arbitrary<Question> = fc.tuple(keys, digests).map(([key, digest]) => {
  const bytes = secp256k1.sign(digest, word(key), { prehash: false, format: "recovered" })
  return { digest, signature: bytes.slice(1), recovery: bytes[0] ?? 0 }
})

/** The same with s in the upper half and the other recovery bit: the curve accepts it, no token does. */
export const malleate = ({ digest, recovery, signature }: Question): Question => {
  const s = BigInt(EvmHex.fromBytes(signature.subarray(32)))
  return { digest, signature: joined(signature.subarray(0, 32), word(order - s)), recovery: 1 - recovery }
}

const drawn = fc
  .tuple(digests, scalars, scalars, fc.constantFrom(0, 1))
  .map(([digest, r, s, recovery]) => ({ digest, signature: joined(word(r), word(s)), recovery }))

const misshapen = fc.record({
  digest: fc.uint8Array({ maxLength: 70 }),
  signature: fc.uint8Array({ maxLength: 70 }),
  recovery: fc.constantFrom(0, 1)
})

const strange = fc
  .tuple(made, fc.constantFrom(-1, 2, 3, 4, 27, 28, 0.5, NaN, 2 ** 32))
  .map(([{ digest, signature }, recovery]) => ({ digest, signature, recovery }))

/** Any input of a recovery. */
export const questions: fc.Arbitrary<Question> = fc.oneof(made, made.map(malleate), drawn, misshapen, strange)
