/**
 * Messages as payers write them: internal ones (an action of a wallet, or a request to be relayed) and external ones. They
 * are read strictly: every field that only the chain fills in is empty, and nothing is left over.
 */
import { beginCell, type Cell, loadStateInit, type Slice, type StateInit, storeStateInit } from "@ton/core"

import * as TonAddress from "./TonAddress.ts"

/**
 * A message that has been read.
 *
 * @category models
 */
export interface TonMessage {
  readonly isExternal: boolean
  readonly to: TonAddress.Address
  /** In nanotons; zero on an external message. */
  readonly value: bigint
  readonly init: StateInit | undefined
  readonly body: Cell
}

const isEmpty = (slice: Slice): boolean => slice.remainingBits === 0 && slice.remainingRefs === 0

/**
 * Reads a message. `undefined` when it is not exactly one of these forms; throws where the cells end too early.
 *
 * @category constructors
 */
export const read = (cell: Cell): TonMessage | undefined => {
  const slice = cell.beginParse()
  const isExternal = slice.loadBit()
  const head = isExternal ? readExternal(slice) : readInternal(slice)
  const to = head && TonAddress.fromCore(head.to)
  if (head === undefined || to === undefined) return undefined
  const init = slice.loadBit() ? readInit(slice) : { state: undefined }
  if (init === undefined) return undefined
  const body = slice.loadBit() ? slice.loadRef() : rest(slice)
  return isEmpty(slice) ? { isExternal, to, value: head.value, init: init.state, body } : undefined
}

/** Bounceable, from nobody yet, without extra currencies, fees, or a time. */
const readInternal = (slice: Slice) => {
  const flags = slice.loadUint(5)
  const to = slice.loadAddress()
  const value = slice.loadCoins()
  const isPlain = !slice.loadBit() && slice.loadCoins() === 0n && slice.loadCoins() === 0n
  const isNew = slice.loadUintBig(64) === 0n && slice.loadUint(32) === 0
  return flags === 0b11000 && isPlain && isNew ? { to, value } : undefined
}

const readExternal = (slice: Slice) => {
  const flags = slice.loadUint(3)
  const to = slice.loadAddress()
  return flags === 0 && slice.loadCoins() === 0n ? { to, value: 0n } : undefined
}

const readInit = (slice: Slice): { readonly state: StateInit } | undefined => {
  if (!slice.loadBit()) return { state: loadStateInit(slice) }
  const inner = slice.loadRef().beginParse()
  const state = loadStateInit(inner)
  return isEmpty(inner) ? { state } : undefined
}

const rest = (slice: Slice): Cell => {
  const builder = beginCell().storeBits(slice.loadBits(slice.remainingBits))
  while (slice.remainingRefs > 0) builder.storeRef(slice.loadRef())
  return builder.endCell()
}

const storeTail = (head: ReturnType<typeof beginCell>, init: StateInit | undefined, body: Cell): Cell => {
  if (init === undefined) head.storeBit(0)
  else
    head
      .storeBit(1)
      .storeBit(1)
      .storeRef(beginCell().store(storeStateInit(init)).endCell())
  return head.storeBit(1).storeRef(body).endCell()
}

/**
 * A bounceable internal message.
 *
 * @category constructors
 */
export const internal = (to: TonAddress.Address, value: bigint, body: Cell, init?: StateInit): Cell =>
  storeTail(
    beginCell()
      .storeUint(0b011000, 6)
      .storeAddress(TonAddress.toCore(to))
      .storeCoins(value)
      .storeBit(0)
      .storeCoins(0)
      .storeCoins(0)
      .storeUint(0, 96),
    init,
    body
  )

/**
 * An external message.
 *
 * @category constructors
 */
export const external = (to: TonAddress.Address, body: Cell, init?: StateInit): Cell =>
  storeTail(beginCell().storeUint(0b1000, 4).storeAddress(TonAddress.toCore(to)).storeCoins(0), init, body)

/**
 * The hash an external message goes by, in hexadecimal: that of the message with this recipient and body and nothing else,
 * so that it is the same however the message was packed (TEP-467).
 *
 * @category getters
 */
export const externalHash = (to: TonAddress.Address, body: Cell): string => external(to, body).hash().toString("hex")
