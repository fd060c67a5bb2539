/**
 * The pending transactions of a ledger in memory. Each signer's are included strictly in the order of their slots; one
 * with a higher fee replaces another.
 */
import { gasOf, type LedgerTransaction } from "./LedgerTransaction.ts"

/** A node's response to a transaction. */
export type PoolAnswer = "accepted" | "slotUsed" | { readonly outdated: string } | { readonly refused: string }

/**
 * The conditions for a new transaction: the price of a unit of gas, the signer's balance for gas, and the node's
 * refusal of new transactions, if any. A signer must own the maximum cost of all its pending transactions.
 */
export interface PoolTerms {
  readonly base: bigint
  readonly signerBalance: bigint
  readonly mood: PoolAnswer | undefined
}

/** The pool. */
export interface LedgerPool {
  /** The next slot of a signer: after its included transactions, or after the consecutive pending ones too. */
  readonly nextSlot: (lane: string, counting: "included" | "known") => bigint
  readonly offer: (transaction: LedgerTransaction, terms: PoolTerms) => PoolAnswer
  /** Removes the transactions that can be included at this price, in order. Their slots are used. */
  readonly ripe: (base: bigint) => ReadonlyArray<LedgerTransaction>
  /** Uses the next slot without a transaction of the pool. */
  readonly skip: (lane: string) => void
  /** Returns the newest used slot of a signer. */
  readonly unskip: (lane: string) => void
  readonly clear: () => void
}

interface PoolLane {
  next: bigint
  readonly waiting: Map<bigint, LedgerTransaction>
}

/** Makes an empty pool. */
export const make = (): LedgerPool => {
  const lanes = new Map<string, PoolLane>()
  const loose = new Map<string, LedgerTransaction>()

  const laneOf = (address: string): PoolLane => {
    const lane = lanes.get(address) ?? { next: 0n, waiting: new Map() }
    lanes.set(address, lane)
    return lane
  }
  const skip = (address: string) => {
    const lane = laneOf(address)
    lane.waiting.delete(lane.next++)
  }
  const ripeOf = (address: string, base: bigint): ReadonlyArray<LedgerTransaction> => {
    const next = laneOf(address).waiting.get(laneOf(address).next)
    if (next === undefined || !pays(next, base)) return []
    skip(address)
    return [next, ...ripeOf(address, base)]
  }

  return {
    nextSlot: (address, counting) => {
      const { next, waiting } = laneOf(address)
      if (counting === "included") return next
      let slot = next
      while (waiting.has(slot)) slot++
      return slot
    },
    offer: (transaction, terms) => {
      const { id, lane, slot } = transaction
      const { next, waiting } = laneOf(lane)
      const rival = slot === undefined ? loose.get(id) : waiting.get(slot)
      if (slot !== undefined && slot < next) return "slotUsed"
      if (rival?.id === id) return "accepted"
      const others = [...waiting.values()].filter((other) => other !== rival)
      const obstacle = terms.mood ?? obstacleOf(transaction, rival, others, terms)
      if (obstacle !== undefined) return obstacle
      if (slot === undefined) loose.set(id, transaction)
      else waiting.set(slot, transaction)
      return "accepted"
    },
    ripe: (base) => {
      const free = [...loose.values()].filter((transaction) => pays(transaction, base))
      for (const { id } of free) loose.delete(id)
      return [...[...lanes.keys()].flatMap((address) => ripeOf(address, base)), ...free]
    },
    skip,
    unskip: (address) => void laneOf(address).next--,
    clear: () => {
      loose.clear()
      for (const { waiting } of lanes.values()) waiting.clear()
    }
  }
}

const obstacleOf = (
  transaction: LedgerTransaction,
  rival: LedgerTransaction | undefined,
  others: ReadonlyArray<LedgerTransaction>,
  { base, signerBalance }: PoolTerms
): PoolAnswer | undefined => {
  if (!pays(transaction, base)) return { outdated: `the fee is below the base fee ${base}` }
  if (rival !== undefined && !isDearer(transaction, rival)) return { outdated: "replacement underpriced" }
  const most = [transaction, ...others].reduce((sum, one) => sum + costOf(one), 0n)
  return signerBalance < most ? { refused: `insufficient funds for gas: ${signerBalance} of ${most}` } : undefined
}

const costOf = (transaction: LedgerTransaction): bigint => gasOf(transaction) * (transaction.fees?.maximum ?? 1n)

const pays = ({ fees }: LedgerTransaction, base: bigint) => fees === undefined || fees.maximum >= base

/** A replacement must raise both fees by a tenth, as nodes require. */
const isDearer = ({ fees }: LedgerTransaction, { fees: earlier }: LedgerTransaction) =>
  fees !== undefined &&
  earlier !== undefined &&
  fees.maximum * 10n >= earlier.maximum * 11n &&
  fees.priority * 10n >= earlier.priority * 11n
