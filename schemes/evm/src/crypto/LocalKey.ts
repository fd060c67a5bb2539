/**
 * A secp256k1 private key in memory: the address of its account, and signatures by it.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js"
import * as Redacted from "effect/Redacted"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmCrypto from "./EvmCrypto.ts"

/** A private key. The key itself is kept redacted. */
export interface LocalKey {
  readonly address: EvmAddress.Address
  /** Signs a 32-byte digest: r, s and the recovery bit, 65 bytes; `undefined` where the cryptography fails. */
  readonly sign: (digest: Uint8Array) => Uint8Array | undefined
}

/** The key in 32 bytes; `undefined` where they are not a number in the curve's range. */
export const fromBytes = (bytes: Uint8Array, crypto: EvmCrypto.Shape = EvmCrypto.javaScript): LocalKey | undefined => {
  if (!secp256k1.utils.isValidSecretKey(bytes)) return undefined
  const key = Redacted.make(bytes)
  const publicKey = secp256k1.getPublicKey(bytes, false)
  return {
    address: EvmAddress.fromPublicKey(publicKey, EvmCrypto.javaScript.keccak256),
    sign: (digest) => crypto.sign(digest, Redacted.value(key))
  }
}

/** A signature of 65 bytes (r, s, recovery bit) in the text form of tokens: r, s, and v, which is 27 plus the recovery bit. */
export const signatureText = (signature: Uint8Array): EvmHex.Hex =>
  `${EvmHex.fromBytes(signature.subarray(0, 64))}${signature[64] === 0 ? "1b" : "1c"}`
