/**
 * Signatures of TRON transactions: 65 bytes, r, s in the lower half of the order, and the recovery bit. Wallets write the last byte
 * as 0, 1, 27 or 28, in either case and sometimes with `0x`; here each signature has one text.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js"
import * as BoundedMap from "@pontage/core/BoundedMap"

import * as TronAddress from "../primitives/TronAddress.ts"
import * as TronHex from "../primitives/TronHex.ts"

const grammar = /^(?:0x)?([0-9a-fA-F]{128})(00|01|1[bBcC])$/

/** Half the order of secp256k1, in hexadecimal digits for comparison. */
const halfOrder = "7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0"

/** A signature in its canonical text: 130 lower-case digits, the last byte 27 or 28; `undefined` if the text is not a signature. */
export const fromText = (text: string): string | undefined => {
  const match = grammar.exec(text)
  if (match === null) return undefined
  const [, parts = "", v = ""] = match
  return `${parts.toLowerCase()}${v === "00" || v.toLowerCase() === "1b" ? "1b" : "1c"}`
}

/** Whether s is in the upper half of the order: the malleated twin of a signature. */
export const isHighS = (signature: string): boolean => signature.slice(64, 128) > halfOrder

/** Results of `recoverAddress`. It takes milliseconds, and a shop that settles in its own process calls it twice for a payment. */
const recovered = /* @__PURE__ */ BoundedMap.oldestOut<string, TronAddress.Address | undefined>(512)

/** The account whose key signed the digest; `undefined` if no key did. The last few results are remembered. */
export const recoverAddress = (digest: Uint8Array, signature: string): TronAddress.Address | undefined => {
  const key = `${TronHex.fromBytes(digest)} ${signature}`
  if (recovered.has(key)) return recovered.get(key)
  const address = recover(digest, signature)
  recovered.set(key, address)
  return address
}

const recover = (digest: Uint8Array, signature: string): TronAddress.Address | undefined => {
  const bytes = TronHex.toBytes(`${signature.endsWith("1b") ? "00" : "01"}${signature.slice(0, 128)}`)
  try {
    const publicKey = secp256k1.Signature.fromBytes(bytes, "recovered").recoverPublicKey(digest)
    return TronAddress.fromPublicKey(publicKey.toBytes(false))
  } catch {
    return undefined
  }
}
