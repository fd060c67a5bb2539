/**
 * Deposits into a channel without coin: a transfer authorization to the collector (ERC-3009), whose nonce is made of the
 * channel's id, or a transfer by Permit2, whose witness is the channel's id. So the money can reach no other channel.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import * as Amount from "@pontage/core/Amount"
import * as Schema from "effect/Schema"

import type { Keccak256 } from "../crypto/EvmCrypto.ts"
import * as TypedDigest from "../crypto/TypedDigest.ts"
import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"
import * as Permit2 from "../transfer/Permit2.ts"
import * as ChannelContract from "./ChannelContract.ts"
import * as ChannelNumber from "./ChannelNumber.ts"
import * as Voucher from "./Voucher.ts"

/**
 * A deposit by transfer authorization as it travels: payer, collector, amount and nonce follow from the channel. Times are
 * seconds since 1970, both exclusive.
 */
export const Erc3009Deposit = /* @__PURE__ */ Schema.Struct({
  validAfter: Amount.FromText,
  validBefore: Amount.FromText,
  salt: EvmHex.Bytes32,
  signature: Voucher.Signature
})

export type Erc3009Deposit = typeof Erc3009Deposit.Type

/** A deposit by Permit2 as it travels; `deadline` is in seconds since 1970, inclusive. */
export const Permit2Deposit = /* @__PURE__ */ Schema.Struct({
  from: EvmAddress.FromText,
  permitted: /* @__PURE__ */ Schema.Struct({ token: EvmAddress.FromText, amount: ChannelNumber.Uint128 }),
  spender: EvmAddress.FromText,
  nonce: Amount.FromText,
  deadline: Amount.FromText,
  witness: /* @__PURE__ */ Schema.Struct({ channelId: EvmHex.Bytes32 }),
  signature: Voucher.Signature
})

export type Permit2Deposit = typeof Permit2Deposit.Type

/** The ERC-3009 nonce of a deposit: the hash of the channel's id and a salt. */
export const nonce = (channelId: EvmHex.Hex, salt: EvmHex.Hex, keccak256: Keccak256 = keccak_256): EvmHex.Hex =>
  EvmHex.fromBytes(keccak256(EvmHex.toBytes(`${channelId}${salt.slice(2)}`)))

/** The authorization's terms, given what the channel fixes. */
export const authorization = (
  channelId: EvmHex.Hex,
  payer: EvmAddress.Address,
  amount: bigint,
  { salt, validAfter, validBefore }: Omit<Erc3009Deposit, "signature">
): Eip3009.TransferWithAuthorization => ({
  from: payer,
  to: ChannelContract.erc3009Collector,
  value: amount,
  validAfter,
  validBefore,
  nonce: nonce(channelId, salt)
})

/** The input of a signer for a deposit by transfer authorization, under the token's domain: only its recipient may submit it. */
export const receiveTypedData = Eip3009.typedReceipt

/** The 32 bytes that the payer signs for a deposit by transfer authorization (EIP-712). */
export const receiveDigest = Eip3009.receiveDigest

/** The EIP-712 types of a deposit by Permit2. */
export const permitTypes = {
  PermitWitnessTransferFrom: [
    { name: "permitted", type: "TokenPermissions" },
    { name: "spender", type: "address" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
    { name: "witness", type: "DepositWitness" }
  ],
  TokenPermissions: Permit2.types.TokenPermissions,
  DepositWitness: [{ name: "channelId", type: "bytes32" }]
} as const

/** The signed terms of a deposit by Permit2. */
export type PermitTerms = Omit<Permit2Deposit, "from" | "signature">

/** The input of a signer for a deposit by Permit2. */
export interface PermitTypedData {
  readonly domain: Permit2.TypedData["domain"]
  readonly types: typeof permitTypes
  readonly primaryType: "PermitWitnessTransferFrom"
  readonly message: PermitTerms
}

/** The deposit by Permit2 as the input of a signer. */
export const permitTypedData = (
  chainId: number,
  { deadline, nonce, permitted, spender, witness }: PermitTerms
): PermitTypedData => ({
  domain: { name: "Permit2", chainId, verifyingContract: Permit2.address },
  types: permitTypes,
  primaryType: "PermitWitnessTransferFrom",
  message: { permitted, spender, nonce, deadline, witness }
})

const witnessTypes = "DepositWitness(bytes32 channelId)"
const permissionTypes = "TokenPermissions(address token,uint256 amount)"
const witnessTypeHash = /* @__PURE__ */ ChannelContract.hashText(witnessTypes)
const permissionTypeHash = /* @__PURE__ */ ChannelContract.hashText(permissionTypes)
const permitTypeHash = /* @__PURE__ */ ChannelContract.hashText(
  `PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,DepositWitness witness)${witnessTypes}${permissionTypes}`
)

/** The 32 bytes that the payer signs for a deposit by Permit2 (EIP-712). */
export const permitDigest = (
  chainId: number,
  { deadline, nonce, permitted, spender, witness }: PermitTerms,
  keccak256: Keccak256 = keccak_256
): Uint8Array => {
  const permission = AbiEncoding.address(permitted.token) + EvmHex.toWord(permitted.amount)
  const hashOf = (words: string): string => TypedDigest.wordsHash(words, keccak256)
  const struct = hashOf(
    permitTypeHash +
      hashOf(permissionTypeHash + permission) +
      AbiEncoding.address(spender) +
      EvmHex.toWord(nonce) +
      EvmHex.toWord(deadline) +
      hashOf(witnessTypeHash + witness.channelId.slice(2))
  )
  return TypedDigest.of(Permit2.domainSeparator(chainId, keccak256).slice(2), struct, keccak256)
}
