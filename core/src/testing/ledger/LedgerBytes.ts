/** The bytes of a transaction on a ledger in memory: JSON, so that any party can store, read and send them. */
import * as Schema from "effect/Schema"

import * as Amount from "../../protocol/Amount.ts"
import type { PreparedTransaction, Slot, ChainHead } from "../../scheme/SchemeFacilitator.ts"
import { gasOf, type LedgerOrder, type LedgerTransaction } from "./LedgerTransaction.ts"

const Order = Schema.Struct({
  payer: Schema.String,
  payTo: Schema.String,
  amount: Amount.FromText,
  nonce: Schema.String,
  validAfter: Schema.Int,
  validBefore: Schema.Int
})

const Bytes = Schema.fromJsonString(
  Schema.Struct({
    id: Schema.String,
    lane: Schema.String,
    slot: Schema.NullOr(Amount.FromText),
    orders: Schema.Array(Order),
    fees: Schema.NullOr(Schema.Struct({ maximum: Amount.FromText, priority: Amount.FromText }))
  })
)

const encodeBytes = Schema.encodeSync(Bytes)
const decodeBytes = Schema.decodeSync(Bytes)

/** Signs a transaction; equal transactions have equal ids and bytes. */
export const sign = (
  orders: ReadonlyArray<LedgerOrder>,
  slot: Slot | undefined,
  { fees: market, head }: ChainHead
): PreparedTransaction => {
  const fees = market && { maximum: market.maximum, priority: market.priority }
  const { lane, number } = slot ?? { lane: "anybody", number: null }
  const load = orders.length === 0 ? "fill" : orders.map(({ nonce, payer }) => `${payer}:${nonce}`).join("+")
  const id = [lane, number ?? "", load, fees?.maximum ?? "", fees?.priority ?? "", head.number].join("/")
  return {
    slot,
    transaction: id,
    bytes: encodeBytes({ id, lane, slot: number, orders, fees: fees ?? null }),
    head: head.number,
    cost: gasOf({ orders }) * (fees?.maximum ?? 1n),
    ...(fees && { fees })
  }
}

/** Reads the transaction of these bytes. */
export const toTransaction = (bytes: string): LedgerTransaction => {
  const { fees, id, lane, orders, slot } = decodeBytes(bytes)
  return { id, lane, slot: slot ?? undefined, orders, fees: fees ?? undefined }
}
