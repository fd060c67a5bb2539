/**
 * The data on a ledger in memory (`TestLedger`): the transfers that payers sign, the transactions that carry them, and
 * the ledger's records of both.
 */
import type { Block, Fees } from "../../scheme/SchemeFacilitator.ts"

/** A transfer as its payer signs it. Its nonce can be used once, in blocks before `validBefore` (Unix seconds). */
export interface LedgerOrder {
  readonly payer: string
  readonly payTo: string
  readonly amount: bigint
  readonly nonce: string
  readonly validAfter: number
  readonly validBefore: number
}

/** A transaction of a signer with any number of transfers; each succeeds or fails by itself. */
export interface LedgerTransaction {
  readonly id: string
  /** The signer. */
  readonly lane: string
  /** Its slot; without one it need not wait for another to be included first. */
  readonly slot: bigint | undefined
  readonly orders: ReadonlyArray<LedgerOrder>
  /** The fee it offers for a unit of gas; without it, the unit has its fixed price of one. */
  readonly fees: Omit<Fees, "ceiling"> | undefined
}

/**
 * The ledger's record of an included transaction: its block, the success of each transfer in order, and its cost to the
 * signer.
 */
export interface LedgerReceipt {
  readonly transaction: string
  readonly block: Block
  readonly paid: ReadonlyArray<boolean>
  readonly cost: bigint
}

/** The use of an authorization: `paid` tells whether its own transfer was executed. */
export interface LedgerUse {
  readonly transaction: string
  /** Its time is in Unix seconds. */
  readonly block: Block & { readonly time: number }
  readonly paid: boolean
}

/** The maximum gas of a transaction. */
export const gasOf = ({ orders }: Pick<LedgerTransaction, "orders">): bigint => 21n + 50n * BigInt(orders.length)

/** The transfer of an `Authorization`, in the form that any party can submit. */
export const toOrder = ({ amount, nonce, payTo, payer, validAfter, validBefore }: LedgerOrder): LedgerOrder => ({
  payer,
  payTo,
  amount,
  nonce,
  validAfter,
  validBefore
})
