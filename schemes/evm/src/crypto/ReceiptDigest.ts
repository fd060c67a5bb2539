/** The digest of a statement that a shop signs: of a receipt, or of an offer (EIP-712, with fields of texts and whole numbers). */
import { keccak_256 } from "@noble/hashes/sha3.js"
import type { TypedStatement } from "@pontage/core"

import * as EvmHex from "../primitives/EvmHex.ts"
import type { Keccak256 } from "./EvmCrypto.ts"

const domainType = "EIP712Domain(string name,string version,uint256 chainId)"

/** The 32 bytes that the shop signs. */
export const of = (statement: TypedStatement.TypedStatement, keccak256: Keccak256 = keccak_256): Uint8Array => {
  const { domain, message, primaryType, types } = statement
  const fields = types[primaryType] ?? []
  const text = (value: string) => EvmHex.fromBytes(keccak256(new TextEncoder().encode(value))).slice(2)
  const word = (value: string | bigint = "") => (typeof value === "bigint" ? EvmHex.toWord(value) : text(value))
  const struct = (...words: ReadonlyArray<string>) =>
    EvmHex.fromBytes(keccak256(EvmHex.toBytes(`0x${words.join("")}`))).slice(2)
  const separator = struct(text(domainType), text(domain.name), text(domain.version), EvmHex.toWord(domain.chainId))
  const type = `${primaryType}(${fields.map(({ name, type }) => `${type} ${name}`).join(",")})`
  const hashed = struct(text(type), ...fields.map(({ name }) => word(message[name])))
  return keccak256(EvmHex.toBytes(`0x1901${separator}${hashed}`))
}
