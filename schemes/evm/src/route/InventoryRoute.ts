/**
 * Payments that an operator delivers from its own money on another network, its inventory. The payer signs an ordinary EIP-3009
 * `TransferWithAuthorization` to the operator's account, whose nonce is the hash of the whole route. The token's own event of that nonce
 * is the proof of what the payer has paid for, so no contract is needed; that the operator pays the shop is the operator's word.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import * as Amount from "@pontage/core/Amount"
import * as Schema from "effect/Schema"

import type * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"

/** A name on another network, in the wire form of its family: short, and without characters that need an escape. */
const isName = (text: string): boolean => /^[0-9A-Za-z:_.-]{1,128}$/.test(text)

const Name = /* @__PURE__ */ Schema.String.check(
  /* @__PURE__ */ Schema.makeFilter(isName, { expected: "1 to 128 letters, digits and characters of :_.-" })
)

/** A route, decoded from its wire form: amounts are decimal strings in the token's smallest unit. */
export const InventoryRoute = /* @__PURE__ */ Schema.Struct({
  /** The other network, its token, and the recipient there. */
  network: Name,
  asset: Name,
  recipient: Name,
  /** The amount that the recipient gets on the other network. */
  amount: Amount.FromText,
  /** The operator's fee; the payer pays both. */
  fee: Amount.FromText,
  /** Binds the payment to what it pays for. */
  tag: EvmHex.Bytes32
})

export type InventoryRoute = typeof InventoryRoute.Type

/** The place where the payer pays: its chain, the token, and the operator's account. */
export interface InventoryPlace {
  readonly chainId: number
  readonly token: EvmAddress.Address
  readonly account: EvmAddress.Address
}

const utf8 = /* @__PURE__ */ new TextEncoder()

/** 24 bytes of a hash, and 8 zero bytes for tokens whose nonces are keyed sequences. */
const nonceFrom = (parts: ReadonlyArray<string>): EvmHex.Hex =>
  `0x${EvmHex.fromBytes(keccak_256(utf8.encode(JSON.stringify(parts)))).slice(2, 50)}${"0".repeat(16)}`

/** The nonce that the payer signs. */
export const nonceOf = (
  { account, chainId, token }: InventoryPlace,
  { amount, asset, fee, network, recipient, tag }: InventoryRoute
): EvmHex.Hex =>
  nonceFrom([
    "pontage inventory 1",
    `${chainId}`,
    token,
    account,
    network,
    asset,
    recipient,
    `${amount}`,
    `${fee}`,
    tag
  ])

/** The name of a payment to an inventory: the nonce that its payer has used on its chain. */
export interface InventoryPayment extends Omit<InventoryPlace, "account"> {
  readonly payer: EvmAddress.Address
  readonly nonce: EvmHex.Hex
}

/**
 * The nonce of the operator's payment to the shop. It follows from the payer's alone, so the other token pays each route once, whatever
 * the operator's records say.
 */
export const payoutNonceOf = ({ chainId, nonce, payer, token }: InventoryPayment): EvmHex.Hex =>
  nonceFrom(["pontage payout 1", `${chainId}`, token, payer, nonce])
