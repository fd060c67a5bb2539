/**
 * Claims of several vouchers at once, authorized by one signature of the receiver's side. A claim names the sum of all claims
 * of its channel, not a difference, so that a repeated claim changes nothing.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import * as Schema from "effect/Schema"

import type { Keccak256 } from "../crypto/EvmCrypto.ts"
import * as TypedDigest from "../crypto/TypedDigest.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as ChannelConfig from "./ChannelConfig.ts"
import * as ChannelContract from "./ChannelContract.ts"
import * as ChannelNumber from "./ChannelNumber.ts"
import * as Voucher from "./Voucher.ts"

/** One row of a batch, as it travels and as the contract takes it. */
export const ClaimRow = /* @__PURE__ */ Schema.Struct({
  voucher: /* @__PURE__ */ Schema.Struct({
    channel: ChannelConfig.ChannelConfig,
    maxClaimableAmount: ChannelNumber.Uint128
  }),
  signature: Voucher.Signature,
  totalClaimed: ChannelNumber.Uint128
})

export type ClaimRow = typeof ClaimRow.Type

/** The row as it travels. */
export const onWire = ({ signature, totalClaimed, voucher: { channel, maxClaimableAmount } }: ClaimRow) => ({
  voucher: { channel: ChannelConfig.onWire(channel), maxClaimableAmount: `${maxClaimableAmount}` },
  signature,
  totalClaimed: `${totalClaimed}`
})

/** The terms of one row that the signature of a batch covers. */
export interface ClaimEntry {
  readonly channelId: EvmHex.Hex
  readonly maxClaimableAmount: bigint
  readonly totalClaimed: bigint
}

/** The signed terms of a row. */
export const entry = (chainId: number, { totalClaimed, voucher }: ClaimRow): ClaimEntry => ({
  channelId: ChannelConfig.id(chainId, voucher.channel),
  maxClaimableAmount: voucher.maxClaimableAmount,
  totalClaimed
})

/** The EIP-712 types of a batch. */
export const types = {
  ClaimBatch: [{ name: "claims", type: "ClaimEntry[]" }],
  ClaimEntry: [
    { name: "channelId", type: "bytes32" },
    { name: "maxClaimableAmount", type: "uint128" },
    { name: "totalClaimed", type: "uint128" }
  ]
} as const

/** The input of a signer. */
export interface TypedData {
  readonly domain: ChannelContract.Domain
  readonly types: typeof types
  readonly primaryType: "ClaimBatch"
  readonly message: { readonly claims: ReadonlyArray<ClaimEntry> }
}

/** The batch as the input of the receiver authorizer's signer. */
export const typedData = (chainId: number, claims: ReadonlyArray<ClaimEntry>): TypedData => ({
  domain: ChannelContract.domain(chainId),
  types,
  primaryType: "ClaimBatch",
  message: { claims }
})

const entryType = "ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)"
const entryTypeHash = /* @__PURE__ */ ChannelContract.hashText(entryType)
const typeHash = /* @__PURE__ */ ChannelContract.hashText(`ClaimBatch(ClaimEntry[] claims)${entryType}`)

/** The 32 bytes that the receiver's side signs (EIP-712); defined for no rows too, which the contract never claims. */
export const digest = (
  chainId: number,
  claims: ReadonlyArray<ClaimEntry>,
  keccak256: Keccak256 = keccak_256
): Uint8Array => {
  const hashOf = (words: string): string => TypedDigest.wordsHash(words, keccak256)
  const rows = claims.map(({ channelId, maxClaimableAmount, totalClaimed }) =>
    hashOf(entryTypeHash + channelId.slice(2) + EvmHex.toWord(maxClaimableAmount) + EvmHex.toWord(totalClaimed))
  )
  return ChannelContract.digest(chainId, typeHash + hashOf(rows.join("")), keccak256)
}
