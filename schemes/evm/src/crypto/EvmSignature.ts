/**
 * Signatures of payers, as strictly as tokens take them. A plain account's signature has one form: 65 bytes, r, s in the
 * lower half of the order, v of 27 or 28. Everything else can only be right for a contract account, which alone knows what
 * its signatures look like (ERC-1271), and is named, so that a plain account can be told what is wrong with it.
 */
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import type * as EvmCrypto from "./EvmCrypto.ts"

/**
 * Why a signature cannot be a plain account's: `compact` is 64 bytes (EIP-2098), `recovery_id` a v that is neither 27 nor
 * 28, `high_s` the malleated twin of a valid signature (EIP-2), `length` any other number of bytes.
 */
export type Irregularity = "compact" | "recovery_id" | "high_s" | "length"

/** A signature in the one form that a plain account may use. The text is lower case. */
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
 * The signature of a contract account that need not be deployed yet (ERC-6492), still wrapped: factory, factory calldata
 * and inner signature before the magic suffix. A token does not take this form.
 */
export interface Erc6492 {
  readonly _tag: "Erc6492"
  readonly hex: EvmHex.Hex
}

/** No signature at all: not hexadecimal, or longer than {@link maximumBytes}. */
export interface Malformed {
  readonly _tag: "Malformed"
  readonly reason: "not_hexadecimal" | "too_long"
}

/** What a text that should be a signature turned out to be. */
export type EvmSignature = Ecdsa | ContractOnly | Erc6492 | Malformed

/** The longest signature that is read, in bytes. */
export const maximumBytes = 4096

const erc6492Suffix = /* @__PURE__ */ "6492".repeat(16)

/** Half the order of secp256k1, as the digits it is compared by. */
const halfOrder = "7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0"

const irregularity = (hex: EvmHex.Hex): Irregularity | undefined => {
  if (hex.length === 130) return "compact"
  if (hex.length !== 132) return "length"
  const v = hex.slice(130)
  if (v !== "1b" && v !== "1c") return "recovery_id"
  return hex.slice(66, 130) > halfOrder ? "high_s" : undefined
}

/** Reads a signature. Never fails: what it cannot be is part of the answer. */
export const fromText = (text: string): EvmSignature => {
  if (text.length > 2 + 2 * maximumBytes) return { _tag: "Malformed", reason: "too_long" }
  if (!EvmHex.isHex(text)) return { _tag: "Malformed", reason: "not_hexadecimal" }
  const hex = EvmHex.toLowerCase(text)
  if (hex.endsWith(erc6492Suffix)) return { _tag: "Erc6492", hex }
  const found = irregularity(hex)
  return found === undefined ? { _tag: "Ecdsa", hex } : { _tag: "ContractOnly", hex, irregularity: found }
}

/**
 * The account whose key signed the digest, or `undefined` when no key did. Whether that account is the payer, and whether
 * the payer has code and so is asked by ERC-1271 instead, is the caller's question.
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
