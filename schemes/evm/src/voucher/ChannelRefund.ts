/**
 * Refunds of a channel's unclaimed money to its payer, authorized by the receiver's side. The nonce is the channel's count of
 * refunds, so that a signature serves once.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"

import type { Keccak256 } from "../crypto/EvmCrypto.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as ChannelContract from "./ChannelContract.ts"

/** The signed terms of a refund. */
export type ChannelRefund = {
  readonly channelId: EvmHex.Hex
  readonly nonce: bigint
  readonly amount: bigint
}

/** The EIP-712 types of a refund. */
export const types = {
  Refund: [
    { name: "channelId", type: "bytes32" },
    { name: "nonce", type: "uint256" },
    { name: "amount", type: "uint128" }
  ]
} as const

/** The input of a signer. */
export interface TypedData {
  readonly domain: ChannelContract.Domain
  readonly types: typeof types
  readonly primaryType: "Refund"
  readonly message: ChannelRefund
}

/** The refund as the input of the receiver authorizer's signer. */
export const typedData = (chainId: number, { amount, channelId, nonce }: ChannelRefund): TypedData => ({
  domain: ChannelContract.domain(chainId),
  types,
  primaryType: "Refund",
  message: { channelId, nonce, amount }
})

const typeHash = /* @__PURE__ */ ChannelContract.hashText("Refund(bytes32 channelId,uint256 nonce,uint128 amount)")

/** The 32 bytes that the receiver's side signs (EIP-712). */
export const digest = (
  chainId: number,
  { amount, channelId, nonce }: ChannelRefund,
  keccak256: Keccak256 = keccak_256
): Uint8Array =>
  ChannelContract.digest(
    chainId,
    typeHash + channelId.slice(2) + EvmHex.toWord(nonce) + EvmHex.toWord(amount),
    keccak256
  )
