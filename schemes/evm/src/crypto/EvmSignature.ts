/**
 * Signatures of payers, accepted as strictly as tokens accept them. A plain account's signature has one form: 65 bytes, r, s
 * in the lower half of the order, v of 27 or 28. Every other form can be valid only for a contract account, which defines
 * its signatures itself (ERC-1271); the form is named, so that the refusal of a plain account's signature gives the reason.
 */
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as Erc6492 from "./Erc6492.ts"
import type * as EvmCrypto from "./EvmCrypto.ts"

/**
 * The reason why a signature cannot be a plain account's: `compact` is 64 bytes (EIP-2098), `recovery_id` a v other than 27
 * and 28, `high_s` the malleated twin of a valid signature (EIP-2), `length` any other number of bytes.
 */
export type Irregularity = "compact" | "recovery_id" | "high_s" | "length"

/** A signature in the only form of a plain account. The text is lower case. */
export interface Ecdsa {
  readonly _tag: "Ecdsa"
  readonly hex: EvmHex.Hex
}

/** Bytes that only a contract account can accept. */
export interface ContractOnly {
  readonly _tag: "ContractOnly"
  readonly hex: EvmHex.Hex
  readonly irregularity: Irregularity
}

/**
 * The signature of a contract account that may not be deployed yet (ERC-6492), in its parts. Tokens do not accept the wrapped
 * form.
 */
export interface Counterfactual extends Erc6492.Erc6492 {
  readonly _tag: "Erc6492"
}

/** Not a signature: not hexadecimal, longer than {@link maximumBytes}, or wrapped in another way than ERC-6492's. */
export interface Malformed {
  readonly _tag: "Malformed"
  readonly reason: "not_hexadecimal" | "too_long" | "erc6492"
}

/** A signature's text, classified. */
export type EvmSignature = Ecdsa | ContractOnly | Counterfactual | Malformed

/** The longest signature accepted, in bytes. */
export const maximumBytes = 4096

/** Half the order of secp256k1, as digits to compare with. */
const halfOrder = "7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0"

const irregularity = (hex: EvmHex.Hex): Irregularity | undefined => {
  if (hex.length === 130) return "compact"
  if (hex.length !== 132) return "length"
  const v = hex.slice(130)
  if (v !== "1b" && v !== "1c") return "recovery_id"
  return hex.slice(66, 130) > halfOrder ? "high_s" : undefined
}

/** Classifies a signature. Never fails: the result carries the reason. */
export const fromText = (text: string): EvmSignature => {
  if (text.length > 2 + 2 * maximumBytes) return { _tag: "Malformed", reason: "too_long" }
  if (!EvmHex.isHex(text)) return { _tag: "Malformed", reason: "not_hexadecimal" }
  const hex = EvmHex.toLowerCase(text)
  if (Erc6492.isWrapped(hex)) {
    const parts = Erc6492.unwrap(hex)
    return parts === undefined ? { _tag: "Malformed", reason: "erc6492" } : { _tag: "Erc6492", ...parts }
  }
  const found = irregularity(hex)
  return found === undefined ? { _tag: "Ecdsa", hex } : { _tag: "ContractOnly", hex, irregularity: found }
}

/**
 * The account whose key signed the digest, or `undefined` for a signature of no key. The caller compares the account with
 * the payer, and checks whether the payer has code, which validates its signatures itself (ERC-1271).
 */
export const recoverAddress = (
  digest: Uint8Array,
  signature: Ecdsa,
  crypto: Pick<EvmCrypto.Shape, "keccak256" | "recoverPublicKey">
): EvmAddress.Address | undefined => {
  const parts = new Uint8Array(64)
  EvmHex.write(signature.hex, parts, 0, 64)
  const publicKey = crypto.recoverPublicKey(digest, parts, signature.hex.endsWith("1b") ? 0 : 1)
  return publicKey && EvmAddress.fromPublicKey(publicKey, crypto.keccak256)
}
