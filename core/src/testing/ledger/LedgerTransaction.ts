/**
 * What travels on a ledger in memory (`TestLedger`): the transfers that payers sign, the transactions that carry them, and
 * what the ledger remembers of both.
 */
import type { Block, Fees } from "../../scheme/SchemeFacilitator.ts"

/**
 * A transfer as its payer signs it. It can be executed once by its nonce, in blocks before `validBefore` (Unix seconds).
 */
export interface LedgerOrder {
  readonly payer: string
  readonly payTo: string
  readonly amount: bigint
  readonly nonce: string
  readonly validAfter: number
  readonly validBefore: number
}

/** A transaction of a signer: so many transfers, each of which happens or does not by itself, or none at all. */
export interface LedgerTransaction {
  readonly id: string
  /** The signer. */
  readonly lane: string
  /** Its place among the signer's transactions; without one it needs no other to be mined first. */
  readonly slot: bigint | undefined
  readonly orders: ReadonlyArray<LedgerOrder>
  /** What it offers for a unit of gas; without it, the unit has its fixed price of one. */
  readonly fees: Omit<Fees, "ceiling"> | undefined
}

/**
 * What the ledger remembers of a mined transaction: where it lies, which of its transfers happened, in their order, and
 * what it has cost its signer.
 */
export interface LedgerReceipt {
  readonly transaction: string
  readonly block: Block
  readonly paid: ReadonlyArray<boolean>
  readonly cost: bigint
}

/** How an authorization was used up: `paid` tells whether for its own transfer. */
export interface LedgerUse {
  readonly transaction: string
  /** Its time is in Unix seconds. */
  readonly block: Block & { readonly time: number }
  readonly paid: boolean
}

/** The most gas a transaction can use. */
export const gasOf = ({ orders }: Pick<LedgerTransaction, "orders">): bigint => 21n + 50n * BigInt(orders.length)

/** The transfer that an `Authorization` is for, as anybody can submit it. */
export const toOrder = ({ amount, nonce, payTo, payer, validAfter, validBefore }: LedgerOrder): LedgerOrder => ({
  payer,
  payTo,
  amount,
  nonce,
  validAfter,
  validBefore
})
