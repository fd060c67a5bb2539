/** The digest of a signed receipt (EIP-712). */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { SignedReceipt } from "@pontage/core"

import * as EvmHex from "../primitives/EvmHex.ts"
import type { Keccak256 } from "./EvmCrypto.ts"

const domainType = "EIP712Domain(string name,string version,uint256 chainId)"
const receiptType = `Receipt(${SignedReceipt.types.Receipt.map(({ name, type }) => `${type} ${name}`).join(",")})`

/** The 32 bytes that the shop signs. */
export const of = (statement: SignedReceipt.ReceiptStatement, keccak256: Keccak256 = keccak_256): Uint8Array => {
  const { issuedAt, network, payer, resourceUrl, transaction, version } = statement
  const text = (value: string) => EvmHex.fromBytes(keccak256(new TextEncoder().encode(value))).slice(2)
  const struct = (...words: ReadonlyArray<string>) =>
    EvmHex.fromBytes(keccak256(EvmHex.toBytes(`0x${words.join("")}`))).slice(2)
  const { domain } = SignedReceipt
  const separator = struct(text(domainType), text(domain.name), text(domain.version), EvmHex.toWord(domain.chainId))
  const receipt = struct(
    text(receiptType),
    EvmHex.toWord(version),
    text(network),
    text(resourceUrl),
    text(payer),
    EvmHex.toWord(issuedAt),
    text(transaction)
  )
  return keccak256(EvmHex.toBytes(`0x1901${separator}${receipt}`))
}
