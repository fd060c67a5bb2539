/** Signs a shop's receipts and offers with a key in memory, and finds the account that signed one. */
import { SignedStatement, type TypedStatement } from "@pontage/core"
import type * as Redacted from "effect/Redacted"

import * as EvmCrypto from "../crypto/EvmCrypto.ts"
import * as EvmSignature from "../crypto/EvmSignature.ts"
import * as LocalKey from "../crypto/LocalKey.ts"
import * as ReceiptDigest from "../crypto/ReceiptDigest.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import { keyOf } from "./LocalSigner.ts"

/**
 * Signs receipts and offers with a private key: 64 hexadecimal digits, optionally after `0x`, redacted or not. The key needs no coin, and should be
 * no key that holds money. Throws `Misconfigured` for an invalid key. `crypto` defaults to JavaScript.
 */
export const receiptSigner = (
  privateKey: string | Redacted.Redacted,
  crypto: EvmCrypto.Shape = EvmCrypto.javaScript
): TypedStatement.ReceiptSigner => {
  const key = keyOf(privateKey, crypto, "receiptSigner")
  return {
    address: EvmAddress.checksum(key.address),
    signTypedData: async (statement) => {
      const signature = key.sign(ReceiptDigest.of(statement, crypto.keccak256))
      if (signature === undefined) throw new Error(`the cryptography by ${crypto.name} did not sign`)
      return LocalKey.signatureText(signature)
    }
  }
}

/**
 * The account whose key signed a receipt or an offer, in checksum form; `undefined` if the signature is none. The caller compares it
 * with the address that the shop publishes: a receipt that another account signed has a signer too.
 */
export const receiptSignerOf = (
  signed: SignedStatement.SignedStatement,
  crypto: EvmCrypto.Shape = EvmCrypto.javaScript
): EvmHex.Hex | undefined => {
  const read = EvmSignature.fromText(signed.signature)
  if (read._tag !== "Ecdsa") return undefined
  const digest = digestOf(signed, crypto)
  const account = digest && EvmSignature.recoverAddress(digest, read, crypto)
  return account && EvmAddress.checksum(account)
}

/** The digest; `undefined` for a number that no shop signs. */
const digestOf = (signed: SignedStatement.SignedStatement, crypto: EvmCrypto.Shape): Uint8Array | undefined => {
  const statement = SignedStatement.typedOf(signed)
  const isSound = Object.values(statement.message).every((value) => typeof value === "string" || value >= 0n)
  return isSound ? ReceiptDigest.of(statement, crypto.keccak256) : undefined
}
