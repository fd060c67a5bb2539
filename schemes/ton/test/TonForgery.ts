/** Validly signed requests of every form: those that a hostile payer can make with a key. */
import { beginCell, type Builder, Cell, type StateInit, storeStateInit } from "@ton/core"

import { Ed25519, TonBoc, TonNetwork, WalletRequest } from "../src/index.ts"
import * as TonAddress from "../src/primitives/TonAddress.ts"
import type { TonTestAccounts } from "../src/testing/index.ts"

/** Fields of an inner message, to differ from a good one. */
export interface Inner {
  readonly to: TonAddress.Address
  readonly value?: bigint
  /** ihr disabled, bounce, bounced, and two bits of no source. */
  readonly flags?: number
  readonly init?: StateInit
  readonly body: Cell
  /** The destination, the value, and the two fees in encodings of their own. */
  readonly odd?: { readonly to?: Write; readonly value?: Write; readonly ihrFee?: Write; readonly forwardFee?: Write }
}

/** Writes a field in any form. */
export type Write = (builder: Builder) => Builder

/** A number of coins with more bytes than it needs. */
export const longCoins =
  (value: bigint, bytes: number): Write =>
  (builder) =>
    builder.storeUint(bytes, 4).storeUint(value, bytes * 8)

/** An address whose first bits may be replaced: no node routes to it any more, and many readers skip over it. */
export const anycast =
  (to: TonAddress.Address): Write =>
  (builder) => {
    const { hash, workChain } = TonAddress.toCore(to)
    return builder
      .storeUint(0b101, 3)
      .storeUint(1, 5)
      .storeBit(((hash[0] ?? 0) & 0x80) !== 0)
      .storeInt(workChain, 8)
      .storeBuffer(hash)
  }

const zero: Write = (builder) => builder.storeCoins(0)

/** An internal message, in parts. */
export const message = ({ body, flags = 0b11000, init, odd = {}, to, value = 0n }: Inner): Cell => {
  const builder = beginCell().storeBit(0).storeUint(flags, 5)
  const address: Write = odd.to ?? ((same) => same.storeAddress(TonAddress.toCore(to)))
  const coins: Write = odd.value ?? ((same) => same.storeCoins(value))
  coins(address(builder)).storeBit(0)
  ;(odd.forwardFee ?? zero)((odd.ihrFee ?? zero)(builder)).storeUint(0, 96)
  if (init === undefined) builder.storeBit(0)
  else
    builder
      .storeBit(1)
      .storeBit(1)
      .storeRef(beginCell().store(storeStateInit(init)).endCell())
  return builder.storeBit(1).storeRef(body).endCell()
}

/** A list of one action. */
export const actionOf = (inner: Cell, mode = 64): Cell | undefined =>
  WalletRequest.actionsOf([{ mode, message: inner }])

const zeroBit = beginCell().storeBit(0).endCell()

/** The written forms of an empty forward payload. */
export const emptyPayloads = {
  ours: (builder: Builder) => builder.storeBit(0),
  "one zero bit": (builder: Builder) => builder.storeBit(0).storeBit(0),
  "an empty cell": (builder: Builder) => builder.storeBit(1).storeRef(Cell.EMPTY),
  "a cell of one zero bit": (builder: Builder) => builder.storeBit(1).storeRef(zeroBit)
} satisfies Readonly<Record<string, Write>>

/** Fields of a transfer, to differ from a good one. */
export interface Transfer {
  readonly op?: number
  readonly queryId?: bigint
  readonly amount: bigint
  readonly to: TonAddress.Address
  readonly responseTo: TonAddress.Address | undefined
  readonly custom?: boolean
  readonly forward?: bigint
  /** The forward payload, with the bit that chooses its place. */
  readonly payload?: Write
  readonly tail?: Write
  /** The amount, the recipient, the destination of the unused TON, and the forwarded TON in encodings of their own. */
  readonly odd?: { readonly amount?: Write; readonly to?: Write; readonly responseTo?: Write; readonly forward?: Write }
}

/** A transfer's body, in parts. */
export const transfer = ({ odd = {}, ...parts }: Transfer): Cell => {
  const builder = beginCell()
    .storeUint(parts.op ?? 0x0f8a7ea5, 32)
    .storeUint(parts.queryId ?? 7n, 64)
  const amount: Write = odd.amount ?? ((same) => same.storeCoins(parts.amount))
  const to: Write = odd.to ?? ((same) => same.storeAddress(TonAddress.toCore(parts.to)))
  const response: Write =
    odd.responseTo ??
    ((same) => same.storeAddress(parts.responseTo === undefined ? null : TonAddress.toCore(parts.responseTo)))
  const forward: Write = odd.forward ?? ((same) => same.storeCoins(parts.forward ?? 0n))
  forward(response(to(amount(builder))).storeMaybeRef(parts.custom === true ? Cell.EMPTY : null))
  ;(parts.payload ?? emptyPayloads.ours)(builder)
  return (parts.tail ?? ((same) => same))(builder).endCell()
}

/** Fields of a request, to differ from a good one. */
export interface Request {
  readonly op?: number
  readonly walletId?: number
  readonly validUntil: number
  readonly seqno: number
  readonly actions: Cell | undefined
  readonly extended?: boolean
  readonly seed: Uint8Array
}

/** A W5 request, signed. */
export const request = (parts: Request): Cell => {
  const builder = beginCell()
    .storeUint(parts.op ?? 0x73696e74, 32)
    .storeInt(parts.walletId ?? TonNetwork.walletId(TonNetwork.local), 32)
    .storeUint(parts.validUntil, 32)
    .storeUint(parts.seqno, 32)
    .storeMaybeRef(parts.actions ?? null)
  // An extended action: signatures are switched off.
  if (parts.extended === true) builder.storeBit(1).storeUint(4, 8).storeBit(0)
  else builder.storeBit(0)
  const unsigned = builder.endCell()
  return WalletRequest.signedW5(unsigned, Ed25519.javaScript.sign(parts.seed, unsigned.hash()))
}

/** A payload around a request. */
export const payload = (payer: TonTestAccounts.TestAccount, body: Cell, init?: StateInit) => ({
  kind: "w5-internal",
  boc: TonBoc.toBase64(message({ to: TonAddress.fromText(payer.raw) ?? never(), body, ...(init && { init }) })),
  from: payer.raw
})

/** x402's payload around a request: nothing but the message and the Jetton's master. */
export const settlementPayload = (
  payer: TonTestAccounts.TestAccount,
  asset: string,
  body: Cell,
  more: Pick<Partial<Inner>, "flags" | "init"> = {}
) => ({ settlementBoc: TonBoc.toBase64(message({ to: addressOf(payer.raw), body, ...more })), asset })

/** An address of the tests, parsed. */
export const addressOf = (raw: string): TonAddress.Address => TonAddress.fromText(raw) ?? never()

const never = (): never => {
  throw new Error("the tests' addresses are addresses")
}

/** A signature of a hash. */
export const signatureOf = (seed: Uint8Array, hash: Uint8Array): Uint8Array => Ed25519.javaScript.sign(seed, hash)
