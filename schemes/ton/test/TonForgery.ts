/** Requests of every shape, validly signed: what a payer with a key and ill will can make. */
import { beginCell, type Builder, Cell, type StateInit, storeStateInit } from "@ton/core"

import { Ed25519, TonBoc, TonNetwork, WalletRequest } from "../src/index.ts"
import type { TonTestAccounts } from "../src/testing/index.ts"
import * as TonAddress from "../src/TonAddress.ts"

/** What an inner message may differ in from a good one. */
export interface Inner {
  readonly to: TonAddress.Address
  readonly value?: bigint
  /** ihr disabled, bounce, bounced, and two bits of no source. */
  readonly flags?: number
  readonly init?: StateInit
  readonly body: Cell
}

/** An internal message, in parts. */
export const message = ({ body, flags = 0b11000, init, to, value = 0n }: Inner): Cell => {
  const builder = beginCell()
    .storeBit(0)
    .storeUint(flags, 5)
    .storeAddress(TonAddress.toCore(to))
    .storeCoins(value)
    .storeUint(0, 1 + 4 + 4 + 96)
  if (init === undefined) builder.storeBit(0)
  else
    builder
      .storeBit(1)
      .storeBit(1)
      .storeRef(beginCell().store(storeStateInit(init)).endCell())
  return builder.storeBit(1).storeRef(body).endCell()
}

/** What a transfer may differ in from a good one. */
export interface Transfer {
  readonly op?: number
  readonly queryId?: bigint
  readonly amount: bigint
  readonly to: TonAddress.Address
  readonly responseTo: TonAddress.Address | undefined
  readonly custom?: boolean
  readonly forward?: bigint
  readonly payload?: boolean
  readonly tail?: (builder: Builder) => Builder
}

/** A transfer's body, in parts. */
export const transfer = (parts: Transfer): Cell => {
  const builder = beginCell()
    .storeUint(parts.op ?? 0x0f8a7ea5, 32)
    .storeUint(parts.queryId ?? 7n, 64)
    .storeCoins(parts.amount)
    .storeAddress(TonAddress.toCore(parts.to))
    .storeAddress(parts.responseTo === undefined ? null : TonAddress.toCore(parts.responseTo))
    .storeMaybeRef(parts.custom === true ? Cell.EMPTY : null)
    .storeCoins(parts.forward ?? 0n)
  if (parts.payload === true) builder.storeBit(1).storeRef(Cell.EMPTY)
  else builder.storeBit(0)
  return (parts.tail ?? ((same) => same))(builder).endCell()
}

/** What a request may differ in from a good one. */
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

/** An address of the tests that is one. */
export const addressOf = (raw: string): TonAddress.Address => TonAddress.fromText(raw) ?? never()

const never = (): never => {
  throw new Error("the tests' addresses are addresses")
}

/** A signature of a hash. */
export const signatureOf = (seed: Uint8Array, hash: Uint8Array): Uint8Array => Ed25519.javaScript.sign(seed, hash)
