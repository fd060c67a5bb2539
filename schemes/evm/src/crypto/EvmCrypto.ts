/**
 * The cryptography that takes most of a facilitator's time: Keccak-256, and recovery and signing on secp256k1. It is a
 * service, because the fastest code for it does not run everywhere: the default is JavaScript, the others are
 * `@pontage/evm/native` and `@pontage/evm/wasm`, and `@pontage/evm/crypto` chooses. Libraries differ in which signatures
 * they accept, so the inputs are checked here, before a library is called.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js"
import { keccak_256 } from "@noble/hashes/sha3.js"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"

/** Keccak-256: returns a hash of 32 bytes in a new array, which the caller owns. */
export type Keccak256 = (bytes: Uint8Array) => Uint8Array

/**
 * The operations. None throws: an invalid signature or key gives `undefined`.
 */
export interface Shape {
  /** The name of the implementation, for log lines and messages. */
  readonly name: string
  readonly keccak256: Keccak256
  /**
   * The public key behind a signature of a 32-byte digest: 65 bytes beginning with 4. `signature` is r and s, 64 bytes, both
   * at least 1, r below the curve's order and s in its lower half; `recovery` is 0 or 1, which is v - 27. Anything else
   * gives `undefined`.
   */
  readonly recoverPublicKey: (digest: Uint8Array, signature: Uint8Array, recovery: number) => Uint8Array | undefined
  /**
   * Signs a 32-byte digest: r, s and the recovery bit, 65 bytes. The same digest and key give the same signature (RFC 6979),
   * and s is in the lower half of the order.
   */
  readonly sign: (digest: Uint8Array, privateKey: Uint8Array) => Uint8Array | undefined
}

/** The functions of a library. They get only numbers in range, and may throw or return `null`. */
export interface Primitives {
  readonly keccak256: Keccak256
  readonly recover: (digest: Uint8Array, signature: Uint8Array, recovery: 0 | 1) => Uint8Array | null
  /** r and s, 64 bytes, by RFC 6979 without more entropy, and the recovery id. */
  readonly sign: (
    digest: Uint8Array,
    privateKey: Uint8Array
  ) => { readonly signature: Uint8Array; readonly recovery: number }
}

const bigEndian = (hex: string): Uint8Array =>
  Uint8Array.from({ length: 32 }, (_, at) => parseInt(hex.substr(2 * at, 2), 16))
const order = /* @__PURE__ */ bigEndian("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141")
const beyondHalf = /* @__PURE__ */ bigEndian("7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a1")

/** Whether 32 bytes are a number of at least 1 and below a limit. */
const isScalar = (bytes: Uint8Array, offset: number, limit: Uint8Array): boolean => {
  let at = 0
  while (at < 32 && bytes[offset + at] === limit[at]) at++
  if (at === 32 || (bytes[offset + at] ?? 255) > (limit[at] ?? 0)) return false
  for (let i = 0; i < 32; i++) if (bytes[offset + i] !== 0) return true
  return false
}

const isSignature = (bytes: Uint8Array): boolean =>
  bytes.length === 64 && isScalar(bytes, 0, order) && isScalar(bytes, 32, beyondHalf)

/** Turns a library's exception into `undefined`: with inputs in range it means that no result exists. */
const attempt = <A>(compute: () => A): A | undefined => {
  try {
    return compute()
  } catch {
    return undefined
  }
}

/** Wraps a library, so that all libraries accept the same inputs. */
export const make = (name: string, { keccak256, recover, sign }: Primitives): Shape => ({
  name,
  keccak256,
  recoverPublicKey: (digest, signature, recovery) => {
    if (digest.length !== 32 || (recovery !== 0 && recovery !== 1) || !isSignature(signature)) return undefined
    const key = attempt(() => recover(digest, signature, recovery))
    return key?.length === 65 && key[0] === 4 ? key : undefined
  },
  sign: (digest, privateKey) => {
    if (digest.length !== 32 || privateKey.length !== 32 || !isScalar(privateKey, 0, order)) return undefined
    const signed = attempt(() => sign(digest, privateKey))
    if (signed === undefined || !isSignature(signed.signature)) return undefined
    if (signed.recovery !== 0 && signed.recovery !== 1) return undefined
    const bytes = new Uint8Array(65)
    bytes.set(signed.signature)
    bytes[64] = signed.recovery
    return bytes
  }
})

const noble: Primitives = {
  keccak256: (bytes) => keccak_256(bytes),
  recover: (digest, signature, recovery) =>
    secp256k1.Signature.fromBytes(signature).addRecoveryBit(recovery).recoverPublicKey(digest).toBytes(false),
  sign: (digest, privateKey) => {
    const bytes = secp256k1.sign(digest, privateKey, { prehash: false, lowS: true, format: "recovered" })
    return { signature: bytes.subarray(1), recovery: bytes[0] ?? 255 }
  }
}

/** Pure JavaScript. Runs everywhere, and recovers some 750 signatures per second and core. */
export const javaScript: Shape = /* @__PURE__ */ make("JavaScript", noble)

/** The cryptography in use; JavaScript where nothing else is provided. */
export class EvmCrypto extends Context.Reference<Shape>("@pontage/evm/EvmCrypto", {
  defaultValue: () => javaScript
}) {}

/** Pure JavaScript, provided explicitly. */
export const layerJavaScript: Layer.Layer<never> = /* @__PURE__ */ Layer.succeed(EvmCrypto, javaScript)
