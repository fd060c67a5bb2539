/** A signer by a private key, for a payer without a wallet or a sponsor. */
import { secp256k1 } from "@noble/curves/secp256k1.js"
import { Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Redacted from "effect/Redacted"

import * as TronAddress from "../primitives/TronAddress.ts"
import * as TronHex from "../primitives/TronHex.ts"
import * as TronTransaction from "../transfer/TronTransaction.ts"
import type { TronSigner } from "./TronSigner.ts"

const check = OptionCheck.setting("a private key: 64 hexadecimal digits, with or without 0x")

/** Reads a key. The text of a library's error about it is never passed on, because libraries quote their input. */
const keyBytes = (given: string | Redacted.Redacted): Uint8Array => {
  const key: unknown = Redacted.isRedacted(given) ? Redacted.value(given) : given
  const fault = check.fault(key)
  if (fault !== undefined || typeof key !== "string")
    throw new Misconfigured({ message: `exactTron.localSigner: ${fault?.problem ?? "expected a private key"}` })
  const text = key.replace(/^0x/, "").toLowerCase()
  const bytes = text.length === 64 && TronHex.isHex(text) ? TronHex.toBytes(text) : new Uint8Array(32)
  if (secp256k1.utils.isValidSecretKey(bytes)) return bytes
  const message = "exactTron.localSigner: the private key is not 64 digits of a number in range"
  throw new Misconfigured({ message })
}

/**
 * Signs with a private key: 64 hexadecimal digits, optionally after `0x`, redacted or not. The key stays redacted and appears in no
 * message. The same transaction gives the same signature (RFC 6979). Throws `Misconfigured` if the key is invalid.
 */
export const localSigner = (privateKey: string | Redacted.Redacted): TronSigner => {
  const key = Redacted.make(keyBytes(privateKey))
  return {
    address: TronAddress.toBase58(TronAddress.fromPublicKey(secp256k1.getPublicKey(Redacted.value(key), false))),
    signTransaction: async ({ raw_data_hex }) => {
      const digest = TronTransaction.idBytes(TronHex.toBytes(raw_data_hex))
      const recovered = secp256k1.sign(digest, Redacted.value(key), { prehash: false, format: "recovered" })
      const parts = TronHex.fromBytes(recovered.subarray(1))
      return { raw_data_hex, signature: [`${parts}${recovered[0] === 0 ? "1b" : "1c"}`] }
    }
  }
}
