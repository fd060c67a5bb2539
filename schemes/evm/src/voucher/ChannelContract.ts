/**
 * The contract that holds payment channels: its address and those of its deposit collectors, its limits, and the EIP-712
 * domain of everything that is signed for it. Source: the scheme `batch-settlement` on EVM of x402.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"

import type { Keccak256 } from "../crypto/EvmCrypto.ts"
import * as TypedDigest from "../crypto/TypedDigest.ts"
import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"

const parsed = (text: string): EvmAddress.Address => EvmAddress.fromTail(EvmHex.fromTrusted(text))

/** The contract `x402BatchSettlement`, at the same address on every chain. */
export const address = /* @__PURE__ */ parsed("0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003")

/** The collector of deposits by transfer authorization (ERC-3009), at the same address on every chain. */
export const erc3009Collector = /* @__PURE__ */ parsed("0x4020806089470a89826cB9fB1f4059150b550004")

/** The collector of deposits by Permit2, at the same address on every chain. */
export const permit2Collector = /* @__PURE__ */ parsed("0x4020425FAf3B746C082C2f942b4E5159887B0005")

/** The shortest time between a withdrawal's start and its end that the contract accepts, in seconds. */
export const minimumWithdrawDelay = 900

/** The longest time between a withdrawal's start and its end that the contract accepts, in seconds: 30 days. */
export const maximumWithdrawDelay = 2_592_000

/** The EIP-712 domain of channels, vouchers, refunds and claims. */
export interface Domain {
  readonly name: "x402 Batch Settlement"
  readonly version: "1"
  readonly chainId: number
  readonly verifyingContract: EvmAddress.Address
}

/** The domain on a chain. */
export const domain = (chainId: number): Domain => ({
  name: "x402 Batch Settlement",
  version: "1",
  chainId,
  verifyingContract: address
})

/** The Keccak-256 hash of a text, as 64 digits: the hash of an EIP-712 type. */
export const hashText = (text: string): string => TypedDigest.textHash(text)

const domainHead = /* @__PURE__ */ (() =>
  hashText("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)") +
  hashText("x402 Batch Settlement") +
  hashText("1"))()

/** The domain separator on a chain, 32 bytes. */
export const domainSeparator = (chainId: number): Uint8Array =>
  keccak_256(EvmHex.toBytes(`0x${domainHead}${EvmHex.toWord(chainId)}${AbiEncoding.address(address)}`))

interface Envelope {
  readonly chainId: number
  /** 0x1901, the domain separator, and room for a structure's hash. */
  readonly bytes: Uint8Array
}

let latest: Envelope | undefined

/** One process rarely serves several chains at the same moment, so the last chain's envelope is kept. */
const envelopeOf = (chainId: number): Uint8Array => {
  if (latest?.chainId === chainId) return latest.bytes
  const bytes = new Uint8Array(66)
  bytes.set([0x19, 0x01])
  bytes.set(domainSeparator(chainId), 2)
  latest = { chainId, bytes }
  return bytes
}

/** The 32 bytes that are signed for a structure (EIP-712), given the structure's words: 64 digits each, its type's hash first. */
export const digest = (chainId: number, words: string, keccak256: Keccak256 = keccak_256): Uint8Array => {
  const bytes = envelopeOf(chainId)
  bytes.set(keccak256(EvmHex.toBytes(`0x${words}`)), 34)
  return keccak256(bytes)
}
