/**
 * Vouchers: the payer's side signs the most that may be claimed from a channel in all, so each voucher has more than the one
 * before. A voucher names neither the request nor a time.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import * as Schema from "effect/Schema"

import * as EvmCrypto from "../crypto/EvmCrypto.ts"
import * as EvmSignature from "../crypto/EvmSignature.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as ChannelContract from "./ChannelContract.ts"
import * as ChannelNumber from "./ChannelNumber.ts"

/** A signature on the wire: not empty, at most 4096 bytes. */
export const Signature = /* @__PURE__ */ EvmHex.Hex.check(
  /* @__PURE__ */ Schema.isBetweenLength(4, 2 + 2 * EvmSignature.maximumBytes)
)

/** A signed voucher. `channelId` is the text that came, in lower case: compare it with the id of the channel's terms. */
export const Voucher = /* @__PURE__ */ Schema.Struct({
  channelId: EvmHex.Bytes32,
  maxClaimableAmount: ChannelNumber.Uint128,
  signature: Signature
})

export type Voucher = typeof Voucher.Type

/** The signed terms of a voucher. */
export type Ceiling = Omit<Voucher, "signature">

/** The EIP-712 types of a voucher. */
export const types = {
  Voucher: [
    { name: "channelId", type: "bytes32" },
    { name: "maxClaimableAmount", type: "uint128" }
  ]
} as const

/** The input of a signer. */
export interface TypedData {
  readonly domain: ChannelContract.Domain
  readonly types: typeof types
  readonly primaryType: "Voucher"
  readonly message: Ceiling
}

/** The voucher as the input of a signer. */
export const typedData = (chainId: number, { channelId, maxClaimableAmount }: Ceiling): TypedData => ({
  domain: ChannelContract.domain(chainId),
  types,
  primaryType: "Voucher",
  message: { channelId, maxClaimableAmount }
})

const typeHash = /* @__PURE__ */ ChannelContract.hashText("Voucher(bytes32 channelId,uint128 maxClaimableAmount)")

/** The 32 bytes that the payer's side signs (EIP-712). */
export const digest = (
  chainId: number,
  { channelId, maxClaimableAmount }: Ceiling,
  keccak256: EvmCrypto.Keccak256 = keccak_256
): Uint8Array =>
  ChannelContract.digest(chainId, typeHash + channelId.slice(2) + EvmHex.toWord(maxClaimableAmount), keccak256)

/** The voucher as it travels. */
export const onWire = ({ channelId, maxClaimableAmount, signature }: Voucher) => ({
  channelId,
  maxClaimableAmount: `${maxClaimableAmount}`,
  signature
})

/** The outcome of a voucher's check without the chain; `contract` is for the payer's account to decide (ERC-1271). */
export type Check = "valid" | "invalid" | "contract"

/**
 * Checks a voucher's signature as the contract does in a claim: by `payerAuthorizer`'s key, in the one form that the contract
 * accepts (65 bytes, s in the lower half, v 27 or 28). A looser check would accept vouchers whose claim reverts, and with it
 * the claims of the same batch.
 */
export const check = (
  chainId: number,
  voucher: Voucher,
  payerAuthorizer: EvmAddress.Address,
  crypto: Pick<EvmCrypto.Shape, "keccak256" | "recoverPublicKey"> = EvmCrypto.javaScript
): Check => {
  if (payerAuthorizer === EvmAddress.zero) return "contract"
  const signature = EvmSignature.fromText(voucher.signature)
  if (signature._tag !== "Ecdsa") return "invalid"
  const signer = EvmSignature.recoverAddress(digest(chainId, voucher, crypto.keccak256), signature, crypto)
  return signer === payerAuthorizer ? "valid" : "invalid"
}
