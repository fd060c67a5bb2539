/**
 * Messages written by payers: internal ones (an action of a wallet, or a request to be relayed) and external ones. They are read
 * strictly: every field that only the chain fills in is empty, nothing is left over, and writing the fields again gives the same
 * cell. If the reader accepted an encoding that the chain refuses (a number with leading zero bytes, an address with anycast),
 * the wallet would keep the attached TON and send nothing.
 */
import { beginCell, type Builder, type Cell, loadStateInit, type Slice, type StateInit, storeStateInit } from "#cells"

import * as TonAddress from "./TonAddress.ts"
import * as TonBoc from "./TonBoc.ts"

/** A message. */
export interface TonMessage {
  readonly isExternal: boolean
  /** Whether a failed internal message comes back; false for an external one. */
  readonly isBounceable: boolean
  readonly to: TonAddress.Address
  /** In nanotons; zero on an external message. */
  readonly value: bigint
  readonly init: StateInit | undefined
  readonly body: Cell
}

const isEmpty = (slice: Slice): boolean => slice.remainingBits === 0 && slice.remainingRefs === 0

/** Layout of a message's parts: in its own cell, or in separate cells. Both forms are valid. */
interface Layout {
  readonly isInitApart: boolean
  readonly isBodyApart: boolean
}

const apart: Layout = { isInitApart: true, isBodyApart: true }

/**
 * Reads a message. `undefined` unless it is exactly one of these forms, in the one encoding of its fields; throws where the
 * cells end too early.
 */
export const read = (cell: Cell): TonMessage | undefined => {
  const slice = cell.beginParse()
  const isExternal = slice.loadBit()
  const head = isExternal ? readExternal(slice) : readInternal(slice)
  const to = head && TonAddress.fromCore(head.to)
  if (head === undefined || to === undefined) return undefined
  const init = slice.loadBit() ? readInit(slice) : { state: undefined, isApart: true }
  if (init === undefined) return undefined
  const isBodyApart = slice.loadBit()
  const body = isBodyApart ? slice.loadRef() : rest(slice)
  if (!isEmpty(slice)) return undefined
  const { isBounceable, value } = head
  const message: TonMessage = { isExternal, isBounceable, to, value, init: init.state, body }
  return write(message, { isInitApart: init.isApart, isBodyApart }).equals(cell) ? message : undefined
}

const write = ({ body, init, isBounceable, isExternal, to, value }: TonMessage, layout: Layout): Cell =>
  storeTail(isExternal ? externalHead(to) : internalHead(to, value, isBounceable), init, body, layout)

/** Reads the head of a message without a sender, extra currencies, fees, or a time. */
const readInternal = (slice: Slice) => {
  const flags = slice.loadUint(5)
  const to = slice.loadAddress()
  const value = slice.loadCoins()
  const isPlain = !slice.loadBit() && slice.loadCoins() === 0n && slice.loadCoins() === 0n
  const isNew = slice.loadUintBig(64) === 0n && slice.loadUint(32) === 0
  const isBounceable = flags === 0b11000
  return (isBounceable || flags === 0b10000) && isPlain && isNew ? { to, value, isBounceable } : undefined
}

const readExternal = (slice: Slice) => {
  const flags = slice.loadUint(3)
  const to = slice.loadAddress()
  return flags === 0 && slice.loadCoins() === 0n ? { to, value: 0n, isBounceable: false } : undefined
}

const readInit = (slice: Slice): { readonly state: StateInit; readonly isApart: boolean } | undefined => {
  if (!slice.loadBit()) return { state: loadStateInit(slice), isApart: false }
  const inner = slice.loadRef().beginParse()
  const state = loadStateInit(inner)
  return isEmpty(inner) ? { state, isApart: true } : undefined
}

const rest = (slice: Slice): Cell => {
  const builder = beginCell().storeBits(slice.loadBits(slice.remainingBits))
  while (slice.remainingRefs > 0) builder.storeRef(slice.loadRef())
  return builder.endCell()
}

const storeTail = (head: Builder, init: StateInit | undefined, body: Cell, layout: Layout): Cell => {
  if (init === undefined) head.storeBit(0)
  else if (layout.isInitApart) {
    head
      .storeBit(1)
      .storeBit(1)
      .storeRef(beginCell().store(storeStateInit(init)).endCell())
  } else head.storeBit(1).storeBit(0).store(storeStateInit(init))
  return layout.isBodyApart
    ? head.storeBit(1).storeRef(body).endCell()
    : head.storeBit(0).storeSlice(body.beginParse()).endCell()
}

const internalHead = (to: TonAddress.Address, value: bigint, isBounceable = true): Builder =>
  beginCell()
    .storeUint(isBounceable ? 0b011000 : 0b010000, 6)
    .storeAddress(TonAddress.toCore(to))
    .storeCoins(value)
    .storeBit(0)
    .storeCoins(0)
    .storeCoins(0)
    .storeUint(0, 96)

const externalHead = (to: TonAddress.Address): Builder =>
  beginCell().storeUint(0b1000, 4).storeAddress(TonAddress.toCore(to)).storeCoins(0)

/** A bounceable internal message. */
export const internal = (to: TonAddress.Address, value: bigint, body: Cell, init?: StateInit): Cell =>
  storeTail(internalHead(to, value), init, body, apart)

/** An external message. */
export const external = (to: TonAddress.Address, body: Cell, init?: StateInit): Cell =>
  storeTail(externalHead(to), init, body, apart)

/**
 * The normalised hash of an external message, in hexadecimal: that of the message with this recipient and body and nothing else,
 * so it does not depend on the message's layout (TEP-467).
 */
export const externalHash = (to: TonAddress.Address, body: Cell): string => TonBoc.hashOf(external(to, body))
