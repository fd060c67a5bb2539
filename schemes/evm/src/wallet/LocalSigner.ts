/**
 * A signer whose key is at hand: of a facilitator's transactions, and of a payer's authorizations. With native cryptography
 * it signs several times as fast as a general wallet library; a key that lives elsewhere comes as an `EvmTransactionSigner`
 * or an `EvmSigner` of its own.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js"
import { Misconfigured } from "@pontage/core"
import * as Redacted from "effect/Redacted"

import * as EvmCrypto from "../crypto/EvmCrypto.ts"
import * as Eip1559 from "../primitives/Eip1559.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"
import type { EvmSigner } from "./EvmSigner.ts"
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
 * The same transaction, or authorization, gives the same bytes (RFC 6979). `crypto` is JavaScript where it is left out. Of
 * typed data it signs EIP-3009 authorizations alone. Throws `Misconfigured` when the key is none; signing rejects with it
 * when the transaction is one that no chain could take, or the typed data something else.
 */
export const localSigner = (
  privateKey: string | Redacted.Redacted,
  crypto: EvmCrypto.Shape = EvmCrypto.javaScript
): EvmTransactionSigner & EvmSigner => {
  const key = Redacted.make(keyBytes(typeof privateKey === "string" ? Redacted.make(privateKey) : privateKey))
  const sign = (digest: Uint8Array): Uint8Array => {
    const signature = crypto.sign(digest, Redacted.value(key))
    if (signature === undefined) throw wrong(`the cryptography by ${crypto.name} did not sign`)
    return signature
  }
  const publicKey = secp256k1.getPublicKey(Redacted.value(key), false)
  return {
    address: EvmAddress.checksum(EvmAddress.fromPublicKey(publicKey, EvmCrypto.javaScript.keccak256)),
    signTransaction: async (transaction) => {
      const irregular = Eip1559.irregularity(transaction)
      if (irregular !== undefined) throw wrong(`the transaction's ${irregular} is out of range`)
      const fields = Eip1559.encodeFields(transaction)
      return Eip1559.signed(fields, sign(crypto.keccak256(EvmHex.toBytes(Eip1559.toSign(fields)))))
    },
    signTypedData: async ({ domain, message, primaryType }) => {
      if (primaryType !== "TransferWithAuthorization") throw wrong("the typed data is no EIP-3009 authorization")
      const signature = sign(Eip3009.digest(domain, message, crypto.keccak256))
      // Behind r and s stands what Ethereum calls v: 27 and the recovery bit.
      return `${EvmHex.fromBytes(signature.subarray(0, 64))}${signature[64] === 0 ? "1b" : "1c"}`
    }
  }
}
