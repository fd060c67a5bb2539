/** The digest of a statement that a shop signs: of a receipt, or of an offer (EIP-712, with fields of texts and whole numbers). */
import { keccak_256 } from "@noble/hashes/sha3.js"
import type { TypedStatement } from "@pontage/core"

import * as EvmHex from "../primitives/EvmHex.ts"
import type { Keccak256 } from "./EvmCrypto.ts"
import * as TypedDigest from "./TypedDigest.ts"

const domainType = "EIP712Domain(string name,string version,uint256 chainId)"

/** The 32 bytes that the shop signs. */
export const of = (statement: TypedStatement.TypedStatement, keccak256: Keccak256 = keccak_256): Uint8Array => {
  const { domain, message, primaryType, types } = statement
  const fields = types[primaryType] ?? []
  const text = (value: string) => TypedDigest.textHash(value, keccak256)
  const word = (value: string | bigint = "") => (typeof value === "bigint" ? EvmHex.toWord(value) : text(value))
  const domainWords = text(domainType) + text(domain.name) + text(domain.version) + EvmHex.toWord(domain.chainId)
  const type = `${primaryType}(${fields.map(({ name, type }) => `${type} ${name}`).join(",")})`
  const words = text(type) + fields.map(({ name }) => word(message[name])).join("")
  const separator = TypedDigest.wordsHash(domainWords, keccak256)
  return TypedDigest.of(separator, TypedDigest.wordsHash(words, keccak256), keccak256)
}
