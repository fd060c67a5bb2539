/**
 * A chain in memory with the faults of real ones, on demand: it loses responses, refuses, withholds blocks, empties its
 * pool, hides receipts, raises fees, takes blocks back, and lets strangers use a slot or an authorization. Blocks,
 * slots, fees and receipts follow the rules of an account chain; `TestScheme` settles on it. For tests of selling,
 * paying and settling without a node.
 */
import type { Block, SlotCount } from "../../scheme/SchemeFacilitator.ts"
import * as LedgerAccounts from "./LedgerAccounts.ts"
import * as LedgerChain from "./LedgerChain.ts"
import * as LedgerPool from "./LedgerPool.ts"
import { gasOf, type LedgerOrder, type LedgerReceipt, type LedgerTransaction } from "./LedgerTransaction.ts"

export {
  type LedgerOrder,
  type LedgerReceipt,
  type LedgerTransaction,
  type LedgerUse,
  toOrder
} from "./LedgerTransaction.ts"

/** The faults of a ledger. A test sets and clears them at any time. */
export interface LedgerFaults {
  /** The ledger does not respond. */
  down: boolean
  /** Transactions are accepted, but the sender gets no response. */
  loseAnswers: boolean
  /** This number of transactions is lost, and the senders get no response. */
  dropNext: number
  /** The node refuses transactions with this message. */
  refusal: string | undefined
  /** The node refuses each transaction as it is, with this message; another one in its slot would be accepted. */
  outdated: string | undefined
  /** The node refuses new transactions with a message that means a used slot. */
  feignUsedSlots: boolean
  /** This number of looks at a slot shows nothing yet. */
  hiddenLooks: number
  /** Transactions stay in the pool until `mine` is called, and time adds no blocks. */
  holdBlocks: boolean
  /** This number of valid transfers fails, without a visible reason. */
  failEntries: number
}

/** The price of a unit of gas, the offered fee, and the operator's maximum. */
export interface LedgerMarket {
  base: bigint
  priority: bigint
  ceiling: bigint
}

/** A node's response to a transaction; `undefined` if the sender gets none. */
export type LedgerAnswer = LedgerPool.PoolAnswer | undefined

/** A ledger. */
export interface TestLedger extends Pick<
  LedgerAccounts.LedgerAccounts,
  "transfers" | "balanceOf" | "deposit" | "useOf"
> {
  readonly faults: LedgerFaults
  /** A higher `base` raises the price: transactions that offer less wait, and new offers are above the `ceiling`. */
  readonly market: LedgerMarket
  /** The depth below the head at which blocks are final; a test may change it. */
  finality: number
  /** Every submission that reached the node, repeats included. */
  readonly submissions: ReadonlyArray<LedgerTransaction>
  readonly head: () => LedgerChain.LedgerBlock
  /** The newest final block. */
  readonly final: () => LedgerChain.LedgerBlock
  readonly isCanonical: (block: Block) => boolean
  readonly withdraw: (account: string, amount: bigint) => void
  /** A signer's balance for gas; plenty at first. */
  readonly signerBalanceOf: (lane: string) => bigint
  readonly setSignerBalance: (lane: string, amount: bigint) => void
  /** The next slot of a signer; pending transactions count by default. */
  readonly nextSlot: (lane: string, counting?: SlotCount) => bigint
  readonly submit: (transaction: LedgerTransaction) => LedgerAnswer
  /** Mines one block of all transactions that are next in their lane and pay enough. */
  readonly mine: () => void
  /** Advances the time (Unix seconds): one block for each second, unless blocks are withheld. */
  readonly tick: (time: number) => void
  readonly receipt: (transaction: string) => LedgerReceipt | undefined
  /** Another party submits an authorization, in a block of its own. */
  readonly settleByStranger: (order: LedgerOrder) => void
  /** The payer cancels an authorization. */
  readonly burn: (order: LedgerOrder) => void
  /** Another party sends with a signer's key: its next slot is used, and its pending transaction is dropped. */
  readonly useSlot: (lane: string) => void
  /** The pool is emptied. */
  readonly emptyPool: () => void
  /** The newest blocks are replaced by as many empty ones; their transactions are dropped, from the pool too. */
  readonly reorganise: (depth: number) => void
}

const calm = (): LedgerFaults => ({
  down: false,
  loseAnswers: false,
  dropNext: 0,
  refusal: undefined,
  outdated: undefined,
  feignUsedSlots: false,
  hiddenLooks: 0,
  holdBlocks: false,
  failEntries: 0
})

const plentyOfGas = 10n ** 18n

/** Maximum number of blocks made at once, however long the ledger was idle. */
const mostBeats = 100

/** Makes an empty ledger without faults. Its blocks are final below eight others. */
export const make = (): TestLedger => {
  const faults = calm()
  const market: LedgerMarket = { base: 10n, priority: 2n, ceiling: 1_000n }
  const chain = LedgerChain.make()
  const accounts = LedgerAccounts.make()
  const pool = LedgerPool.make()
  const miner = makeMiner({ faults, market, chain, accounts, pool })
  const submissions: Array<LedgerTransaction> = []
  let now = 0

  const answerTo = (transaction: LedgerTransaction): LedgerPool.PoolAnswer => {
    if (miner.receipt(transaction.id) !== undefined) return "slotUsed"
    const signerBalance = miner.signerBalanceOf(transaction.lane)
    return pool.offer(transaction, { base: market.base, signerBalance, mood: moodOf(faults) })
  }

  const ledger: TestLedger = {
    ...miner,
    faults,
    market,
    finality: 8,
    transfers: accounts.transfers,
    submissions,
    head: chain.head,
    final: () => chain.below(ledger.finality),
    isCanonical: chain.isCanonical,
    balanceOf: accounts.balanceOf,
    deposit: accounts.deposit,
    withdraw: (account, amount) => accounts.deposit(account, -amount),
    nextSlot: (lane, counting = "known") => {
      if (counting !== "final") return pool.nextSlot(lane, counting)
      const recent = chain.newest(ledger.finality).flatMap(({ signers }) => signers.filter((one) => one === lane))
      return pool.nextSlot(lane, "included") - BigInt(recent.length)
    },
    submit: (transaction) => {
      if (faults.dropNext > 0) return void faults.dropNext--
      submissions.push(transaction)
      const answer = answerTo(transaction)
      if (answer === "accepted" && !faults.holdBlocks) miner.mineAt(now)
      return faults.loseAnswers ? undefined : answer
    },
    mine: () => miner.mineAt(now),
    tick: (time) => {
      now = Math.max(now, time)
      if (faults.holdBlocks) return
      for (let beat = Math.max(chain.head().time + 1, now - mostBeats + 1); beat <= now; beat++) miner.mineAt(beat)
    },
    useOf: accounts.useOf,
    settleByStranger: (order) => void accounts.execute(order, `stranger/${order.nonce}`, chain.extend(now)),
    burn: (order) => accounts.burn(order, `burn/${order.nonce}`, chain.extend(now)),
    useSlot: (lane) => {
      pool.skip(lane)
      const { signers, undo } = chain.extend(now)
      signers.push(lane)
      undo.push(() => pool.unskip(lane))
    },
    emptyPool: pool.clear,
    reorganise: (depth) => {
      for (const { time } of chain.drop(depth)) chain.extend(time)
    }
  }
  return ledger
}

const moodOf = ({ feignUsedSlots, outdated, refusal }: LedgerFaults): LedgerPool.PoolAnswer | undefined => {
  if (refusal !== undefined) return { refused: refusal }
  if (outdated !== undefined) return { outdated }
  return feignUsedSlots ? "slotUsed" : undefined
}

interface Works {
  readonly faults: LedgerFaults
  readonly market: LedgerMarket
  readonly chain: LedgerChain.LedgerChain
  readonly accounts: LedgerAccounts.LedgerAccounts
  readonly pool: LedgerPool.LedgerPool
}

/** Includes pending transactions in blocks and charges their signers. */
const makeMiner = ({ accounts, chain, faults, market, pool }: Works) => {
  const gas = new Map<string, bigint>()
  const receipts = new Map<string, LedgerReceipt>()
  const signerBalanceOf = (lane: string) => gas.get(lane) ?? plentyOfGas

  const execute = (order: LedgerOrder, transaction: string, block: LedgerChain.LedgerBlock): boolean => {
    if (faults.failEntries === 0) return accounts.execute(order, transaction, block)
    faults.failEntries--
    return false
  }
  const include = (transaction: LedgerTransaction, block: LedgerChain.LedgerBlock) => {
    const { id, lane, orders, slot } = transaction
    const cost = gasOf(transaction) * priceOf(transaction, market)
    const paid = orders.map((order) => execute(order, id, block))
    receipts.set(id, { transaction: id, block: { number: block.number, hash: block.hash }, paid, cost })
    gas.set(lane, signerBalanceOf(lane) - cost)
    if (slot !== undefined) block.signers.push(lane)
    block.undo.push(() => {
      receipts.delete(id)
      gas.set(lane, signerBalanceOf(lane) + cost)
      if (slot !== undefined) pool.unskip(lane)
    })
  }

  return {
    signerBalanceOf,
    setSignerBalance: (lane: string, amount: bigint) => void gas.set(lane, amount),
    receipt: (transaction: string) => receipts.get(transaction),
    mineAt: (time: number) => {
      const block = chain.extend(time)
      for (const transaction of pool.ripe(market.base)) include(transaction, block)
    }
  }
}

const priceOf = ({ fees }: LedgerTransaction, { base }: LedgerMarket): bigint => {
  if (fees === undefined) return 1n
  const offered = base + fees.priority
  return fees.maximum < offered ? fees.maximum : offered
}
