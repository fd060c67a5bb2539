/**
 * Messages of a Jetton transfer (TEP-74): to the payer's Jetton wallet, from there to the recipient's Jetton wallet (the
 * credit), and to the account that receives the unused TON (the excess).
 */
import { beginCell, type Cell } from "#cells"

import * as TonAddress from "../primitives/TonAddress.ts"

const transferOp = 0x0f8a7ea5
const creditOp = 0x178d4519
const excessOp = 0xd53276db

/** A plain transfer: nothing is forwarded with it. */
export interface JettonTransfer {
  /** 64 bits. */
  readonly queryId: bigint
  readonly amount: bigint
  readonly to: TonAddress.Address
  /** The account that receives the unused TON. */
  readonly responseTo: TonAddress.Address | undefined
}

/** The body of a transfer, for the payer's Jetton wallet. */
export const toCell = ({ amount, queryId, responseTo, to }: JettonTransfer): Cell =>
  beginCell()
    .storeUint(transferOp, 32)
    .storeUint(queryId, 64)
    .storeCoins(amount)
    .storeAddress(TonAddress.toCore(to))
    .storeAddress(responseTo === undefined ? null : TonAddress.toCore(responseTo))
    .storeBit(0)
    .storeCoins(0)
    .storeBit(0)
    .endCell()

/**
 * Reads the body of a plain transfer. `undefined` when it is another operation, forwards anything, has something left over,
 * or is not the cell that {@link toCell} writes for the same fields; throws where the cell ends too early.
 */
export const read = (body: Cell): JettonTransfer | undefined => {
  const slice = body.beginParse()
  if (slice.loadUint(32) !== transferOp) return undefined
  const queryId = slice.loadUintBig(64)
  const amount = slice.loadCoins()
  const to = TonAddress.fromCore(slice.loadAddress())
  const response = slice.loadMaybeAddress()
  const responseTo = response === null ? undefined : TonAddress.fromCore(response)
  if (to === undefined || (response !== null && responseTo === undefined)) return undefined
  const transfer = { queryId, amount, to, responseTo }
  return toCell(transfer).equals(body) ? transfer : undefined
}

/** Whether a body credits the recipient's Jetton wallet with this transfer. */
export const isCredit = (body: Cell, { amount, queryId }: JettonTransfer): boolean => {
  const slice = body.beginParse()
  if (slice.remainingBits < 100 || slice.loadUint(32) !== creditOp) return false
  return slice.loadUintBig(64) === queryId && slice.loadCoins() === amount
}

/** Whether a body returns a transfer's unused TON. */
export const isExcess = (body: Cell, { queryId }: JettonTransfer): boolean => {
  const slice = body.beginParse()
  return slice.remainingBits === 96 && slice.loadUint(32) === excessOp && slice.loadUintBig(64) === queryId
}
