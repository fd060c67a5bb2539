/**
 * Messages of a Jetton transfer (TEP-74): to the payer's Jetton wallet, from there to the recipient's Jetton wallet (the
 * credit), and to the account that receives the unused TON (the excess).
 */
import { beginCell, type Builder, Cell } from "#cells"

import * as TonAddress from "../primitives/TonAddress.ts"

const transferOp = 0x0f8a7ea5
const creditOp = 0x178d4519
const excessOp = 0xd53276db

/**
 * The written form of a forward payload without content (TEP-74: `Either Cell ^Cell`). Ours writes nothing after the bit that
 * chooses the place; x402's clients write one zero bit, in place or in a cell of its own.
 */
export type EmptyPayload = "zero-bit" | "cell" | "zero-bit-cell"

/** A plain transfer: nothing is forwarded with it. */
export interface JettonTransfer {
  /** 64 bits. */
  readonly queryId: bigint
  readonly amount: bigint
  readonly to: TonAddress.Address
  /** The account that receives the unused TON. */
  readonly responseTo: TonAddress.Address | undefined
  /** The form of its empty forward payload; absent for ours. */
  readonly emptyPayload?: EmptyPayload
}

const emptyForms: ReadonlyArray<EmptyPayload> = ["zero-bit", "cell", "zero-bit-cell"]

const storeEmpty = (builder: Builder, form: EmptyPayload | undefined): Builder => {
  if (form === undefined) return builder.storeBit(0)
  if (form === "zero-bit") return builder.storeBit(0).storeBit(0)
  return builder.storeBit(1).storeRef(form === "cell" ? Cell.EMPTY : beginCell().storeBit(0).endCell())
}

/** The form that has this content in place: nothing, or one zero bit. `undefined` for any other content. */
export const emptyPayloadOf = (content: Cell): { readonly form: EmptyPayload | undefined } | undefined => {
  if (content.refs.length > 0 || content.bits.length > 1) return undefined
  if (content.bits.length === 0) return { form: undefined }
  return content.beginParse().loadBit() ? undefined : { form: "zero-bit" }
}

/** The body of a transfer, for the payer's Jetton wallet. */
export const toCell = ({ amount, emptyPayload, queryId, responseTo, to }: JettonTransfer): Cell => {
  const builder = beginCell()
    .storeUint(transferOp, 32)
    .storeUint(queryId, 64)
    .storeCoins(amount)
    .storeAddress(TonAddress.toCore(to))
    .storeAddress(responseTo === undefined ? null : TonAddress.toCore(responseTo))
    .storeBit(0)
    .storeCoins(0)
  return storeEmpty(builder, emptyPayload).endCell()
}

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
  if (toCell(transfer).equals(body)) return transfer
  const emptyPayload = emptyForms.find((form) => toCell({ ...transfer, emptyPayload: form }).equals(body))
  return emptyPayload && { ...transfer, emptyPayload }
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
