/**
 * A TON payer's key in hostile hands: signs requests of any encoding. It shares no code with the client under attack.
 */
import { createPrivateKey, sign } from "node:crypto"

import { TonNetwork } from "@pontage/ton"
import type { TonTestAccounts } from "@pontage/ton/testing"
import { type Address, beginCell, type Builder, Cell, SendMode } from "@ton/core"

/** Writes a field in an encoding of the forger's. */
export type Write = (builder: Builder) => Builder

/** The signed terms, and the fields that use an encoding of their own. */
export interface Order {
  /** The payer's Jetton wallet. */
  readonly to: Address
  readonly amount: bigint
  readonly payTo: Address
  /** Receiver of the rest of the attached TON. */
  readonly responseTo: Address | null
  /** Unix seconds. */
  readonly validUntil: number
  /** Number of requests that the wallet has accepted. */
  readonly seqno: number
  readonly odd?: {
    readonly value?: Write
    readonly ihrFee?: Write
    readonly forwardFee?: Write
    readonly amount?: Write
    readonly forward?: Write
    readonly payTo?: Write
    readonly responseTo?: Write
  }
}

/** A number of coins with more bytes than it needs. */
export const longCoins =
  (value: bigint, bytes: number): Write =>
  (builder) =>
    builder.storeUint(bytes, 4).storeUint(value, bytes * 8)

/** An address whose first bit may be replaced: no node routes to it any more, and many readers skip over that. */
export const anycast =
  ({ hash, workChain }: Address): Write =>
  (builder) =>
    builder
      .storeUint(0b101, 3)
      .storeUint(1, 5)
      .storeBit(((hash[0] ?? 0) & 0x80) !== 0)
      .storeInt(workChain, 8)
      .storeBuffer(hash)

const nothing: Write = (builder) => builder.storeCoins(0)

/** The body of a Jetton transfer. */
export const transfer = ({ amount, odd = {}, payTo, responseTo }: Omit<Order, "to" | "validUntil" | "seqno">): Cell => {
  const builder = beginCell().storeUint(0x0f8a7ea5, 32).storeUint(7, 64)
  const coins: Write = odd.amount ?? ((same) => same.storeCoins(amount))
  const recipient: Write = odd.payTo ?? ((same) => same.storeAddress(payTo))
  const response: Write = odd.responseTo ?? ((same) => same.storeAddress(responseTo))
  const forward = odd.forward ?? nothing
  return forward(response(recipient(coins(builder))).storeBit(0))
    .storeBit(0)
    .endCell()
}

const message = (to: Address, body: Cell, { forwardFee, ihrFee, value }: NonNullable<Order["odd"]>): Cell => {
  const head = beginCell().storeBit(0).storeUint(0b11000, 5).storeAddress(to)
  const coins = (value ?? nothing)(head).storeBit(0)
  const fees = (forwardFee ?? nothing)((ihrFee ?? nothing)(coins))
  return fees.storeUint(0, 96).storeBit(0).storeBit(1).storeRef(body).endCell()
}

/** The header of a seed of Ed25519 in PKCS #8. */
const keyHeader = Buffer.from("302e020100300506032b657004220420", "hex")

const signed = (seed: Buffer, hash: Buffer): Buffer => {
  const key = createPrivateKey({ key: Buffer.concat([keyHeader, seed]), format: "der", type: "pkcs8" })
  return sign(null, hash, key)
}

const internalSigned = 0x73696e74
const sendAction = 0x0ec3c86d

/** The payload of a payment that a relayer is to bring: a request of a W5 wallet with this one action. */
export const payload = (payer: TonTestAccounts.TestAccount, order: Order) => {
  const inner = message(order.to, transfer(order), order.odd ?? {})
  const mode = SendMode.CARRY_ALL_REMAINING_INCOMING_VALUE
  const actions = beginCell().storeRef(Cell.EMPTY).storeUint(sendAction, 32).storeUint(mode, 8).storeRef(inner)
  const unsigned = beginCell()
    .storeUint(internalSigned, 32)
    .storeInt(TonNetwork.walletId(TonNetwork.local), 32)
    .storeUint(order.validUntil, 32)
    .storeUint(order.seqno, 32)
    .storeMaybeRef(actions.endCell())
    .storeBit(0)
    .endCell()
  const body = beginCell().storeSlice(unsigned.beginParse()).storeBuffer(signed(payer.seed, unsigned.hash()), 64)
  const boc = message(payer.address, body.endCell(), {}).toBoc().toString("base64")
  return { kind: "w5-internal", boc, from: payer.raw }
}
