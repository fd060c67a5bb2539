/**
 * The authorization by which a payer's plain account delegates to code (EIP-7702) in the transaction that submits its first user
 * operation. The facilitator pays for it, so its code is one that keeps nothing in storage and is known to do only what its owner has
 * signed.
 */
import * as Amount from "@pontage/core/Amount"
import * as Schema from "effect/Schema"

import type * as EvmCrypto from "../crypto/EvmCrypto.ts"
import * as EvmSignature from "../crypto/EvmSignature.ts"
import * as Eip7702 from "../primitives/Eip7702.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"

/** The signed authorization on the wire; `nonce` is the number of the account's transactions. */
export const PayerDelegation = /* @__PURE__ */ Schema.Struct({
  chainId: Amount.FromText,
  address: EvmAddress.FromText,
  nonce: Amount.FromText,
  yParity: /* @__PURE__ */ Schema.Literals([0, 1]),
  r: EvmHex.Bytes32,
  s: EvmHex.Bytes32
})

export type PayerDelegation = typeof PayerDelegation.Type

/** Accounts for delegation that keep nothing in storage, deployed at the same address on every chain. */
export const delegates: ReadonlyArray<EvmAddress.Address> = /* @__PURE__ */ [
  // Simple7702Account for EntryPoint 0.8, and for 0.9.
  "0xe6Cae83BdE06E4c305530e199D7217f42808555B",
  "0xa46cc63eBF4Bd77888AA327837d20b23A63a56B5"
].map((text) => EvmAddress.fromTail(EvmHex.fromTrusted(text)))

/** The settings of delegations: their chain, and the code to which payers may delegate. */
export interface ServedDelegations {
  readonly chainId: number
  readonly delegates: ReadonlySet<EvmAddress.Address>
  readonly crypto: EvmCrypto.Shape
}

/** The form of a transaction's list. The caller makes sure that there is no {@link objection}. */
export const toAuthorization = ({ chainId, nonce, ...rest }: PayerDelegation): Eip7702.Authorization => ({
  ...rest,
  chainId: Number(chainId),
  nonce: Number(nonce)
})

/** The rule that a delegation breaks: its name and a message; `undefined` without one. Needs no chain. */
export const objection = (
  delegation: PayerDelegation,
  payer: EvmAddress.Address,
  { chainId, crypto, delegates: served }: ServedDelegations
): readonly [rule: string, message: string] | undefined => {
  if (delegation.chainId !== BigInt(chainId)) {
    return ["delegation_chain", `the delegation is for the chain ${delegation.chainId}, not for ${chainId}`]
  }
  if (!served.has(delegation.address)) {
    const what = `the payer's account would delegate to ${EvmAddress.checksum(delegation.address)}`
    return ["delegation_code", `${what}, which is not known here`]
  }
  if (delegation.nonce > BigInt(Number.MAX_SAFE_INTEGER))
    return ["delegation_nonce", "the delegation's nonce is too high"]
  const signature = EvmSignature.fromText(
    `${delegation.r}${delegation.s.slice(2)}${delegation.yParity === 0 ? "1b" : "1c"}`
  )
  const digest = crypto.keccak256(EvmHex.toBytes(Eip7702.toSign(toAuthorization(delegation))))
  const signer = signature._tag === "Ecdsa" ? EvmSignature.recoverAddress(digest, signature, crypto) : undefined
  return signer === payer ? undefined : ["delegation_signer", "the delegation is not signed by the payer's own key"]
}
