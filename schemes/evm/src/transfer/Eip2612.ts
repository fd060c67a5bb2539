/**
 * Approvals of Permit2 by signature (EIP-2612), for tokens that have them: the facilitator submits one together with the
 * payer's first transfer, so that the payer needs no coin. Source: EIP-2612, and the extension `eip2612GasSponsoring` of
 * x402, whose fields are those on the wire.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import * as Amount from "@pontage/core/Amount"
import * as Schema from "effect/Schema"

import type { Keccak256 } from "../crypto/EvmCrypto.ts"
import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as Eip3009 from "./Eip3009.ts"

/** A signed approval of `amount`, until `deadline` inclusive (seconds since 1970). `nonce` is the token's count for the owner. */
export const SignedApproval = /* @__PURE__ */ Schema.Struct({
  from: EvmAddress.FromText,
  asset: EvmAddress.FromText,
  spender: EvmAddress.FromText,
  amount: Amount.FromText,
  nonce: Amount.FromText,
  deadline: Amount.FromText,
  signature: EvmHex.Hex,
  version: Schema.String
})

export type SignedApproval = typeof SignedApproval.Type

/** The terms of an approval, without its signature. */
export type Approval = Omit<SignedApproval, "signature" | "version">

/** The EIP-712 types of an approval, in the order that EIP-2612 fixes. */
export const types = {
  Permit: [
    { name: "owner", type: "address" },
    { name: "spender", type: "address" },
    { name: "value", type: "uint256" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" }
  ]
} as const

/** The input of a signer. */
export interface TypedData {
  readonly domain: Eip3009.Domain
  readonly types: typeof types
  readonly primaryType: "Permit"
  readonly message: {
    readonly owner: EvmAddress.Address
    readonly spender: EvmAddress.Address
    readonly value: bigint
    readonly nonce: bigint
    readonly deadline: bigint
  }
}

/** The approval as the input of a signer. */
export const typedData = (domain: Eip3009.Domain, { amount, deadline, from, nonce, spender }: Approval): TypedData => ({
  domain,
  types,
  primaryType: "Permit",
  message: { owner: from, spender, value: amount, nonce, deadline }
})

const typeText = "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"
const typeHash = /* @__PURE__ */ keccak_256(/* @__PURE__ */ new TextEncoder().encode(typeText))

/** The 32 bytes that the owner signs (EIP-712). */
export const digest = (
  domain: Eip3009.Domain,
  { amount, deadline, from, nonce, spender }: Approval,
  keccak256: Keccak256 = keccak_256
): Uint8Array => {
  const words = [
    AbiEncoding.address(from),
    AbiEncoding.address(spender),
    ...[amount, nonce, deadline].map(EvmHex.toWord)
  ]
  const struct = keccak256(EvmHex.toBytes(`${EvmHex.fromBytes(typeHash)}${words.join("")}`))
  const separator = EvmHex.fromBytes(Eip3009.domainSeparator(domain))
  return keccak256(EvmHex.toBytes(`0x1901${separator.slice(2)}${EvmHex.fromBytes(struct).slice(2)}`))
}
