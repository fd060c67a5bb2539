/**
 * A signer of the facilitator's transactions whose key is at hand. With native cryptography it signs ten times as fast as a
 * general wallet library; a key that lives elsewhere comes as an `EvmTransactionSigner` of its own.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js"
import { Misconfigured } from "@pontage/core"
import * as Redacted from "effect/Redacted"

import * as Eip1559 from "./Eip1559.ts"
import * as EvmAddress from "./EvmAddress.ts"
import * as EvmCrypto from "./EvmCrypto.ts"
import * as EvmHex from "./EvmHex.ts"
import type { EvmTransactionSigner } from "./EvmTransactionSigner.ts"

const wrong = (what: string) => new Misconfigured({ message: `exactEvm.localSigner: ${what}` })

/** The words of an error about a key are never passed on: libraries quote what they are given. */
const keyBytes = (key: Redacted.Redacted): Uint8Array => {
  const text = Redacted.value(key)
  const bytes = EvmHex.isBytes32(text) ? EvmHex.toBytes(text) : new Uint8Array(32)
  if (!secp256k1.utils.isValidSecretKey(bytes))
    throw wrong("the private key is not 0x and 64 digits of a number in range")
  return bytes
}

/**
 * Signs with a private key: `0x` and 64 hexadecimal digits, redacted or not. The key is kept redacted and is in no message.
 * The same transaction gives the same bytes (RFC 6979). `crypto` is JavaScript where it is left out. Throws
 * `Misconfigured` when the key is none; signing rejects with it when the transaction is one that no chain could take.
 *
 * @category constructors
 */
export const localSigner = (
  privateKey: string | Redacted.Redacted,
  crypto: EvmCrypto.Shape = EvmCrypto.javaScript
): EvmTransactionSigner => {
  const key = Redacted.make(keyBytes(typeof privateKey === "string" ? Redacted.make(privateKey) : privateKey))
  const publicKey = secp256k1.getPublicKey(Redacted.value(key), false)
  return {
    address: EvmAddress.checksum(EvmAddress.fromPublicKey(publicKey, EvmCrypto.javaScript.keccak256)),
    signTransaction: async (transaction) => {
      const irregular = Eip1559.irregularity(transaction)
      if (irregular !== undefined) throw wrong(`the transaction's ${irregular} is out of range`)
      const fields = Eip1559.encodeFields(transaction)
      const digest = crypto.keccak256(EvmHex.toBytes(Eip1559.toSign(fields)))
      const signature = crypto.sign(digest, Redacted.value(key))
      if (signature === undefined) throw wrong(`the cryptography by ${crypto.name} did not sign`)
      return Eip1559.signed(fields, signature)
    }
  }
}
