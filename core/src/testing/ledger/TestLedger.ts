/**
 * A chain in memory that does what real ones do on their worst days, on demand: it loses answers, refuses, holds blocks
 * back, forgets what waits, hides receipts, becomes dear, takes blocks back, lets strangers use a slot or an
 * authorization. Blocks, slots, fees and receipts follow the rules of an account chain; `TestScheme` settles on it. For
 * tests of whatever settles, sells or pays, without a node.
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

/** What happens next on a ledger. Set and unset by the test, at any time. */
export interface LedgerFaults {
  /** Nothing can be asked or sent. */
  down: boolean
  /** A transaction is taken, and its sender hears nothing. */
  loseAnswers: boolean
  /** So many transactions vanish on their way, and their senders hear nothing. */
  dropNext: number
  /** The node does not take transactions, with these words. */
  refusal: string | undefined
  /** The node takes no transaction as it is, with these words; another one in its slot it would take. */
  outdated: string | undefined
  /** The node does not take new transactions, and says so in words that mean a used slot. */
  feignUsedSlots: boolean
  /** So many looks at a slot's transactions show nothing yet. */
  hiddenLooks: number
  /** Transactions wait in the pool until `mine` is called, and time brings no blocks. */
  holdBlocks: boolean
  /** So many transfers that could happen do not, for no reason to be seen. */
  failEntries: number
}

/** What a unit of gas costs, what is offered beside it, and what the operator would pay at most. */
export interface LedgerMarket {
  base: bigint
  priority: bigint
  ceiling: bigint
}

/** What a node says to a transaction; `undefined` when the sender hears nothing. */
export type LedgerAnswer = LedgerPool.PoolAnswer | undefined

/** A ledger. */
export interface TestLedger extends Pick<
  LedgerAccounts.LedgerAccounts,
  "transfers" | "balanceOf" | "deposit" | "useOf"
> {
  readonly faults: LedgerFaults
  /** The ledger becomes dear by a higher `base`: what offers less waits, and new offers are above the `ceiling`. */
  readonly market: LedgerMarket
  /** Blocks so many below the head are final; a test may change it. */
  finality: number
  /** Every sending of a transaction that reached the node, repeats included. */
  readonly submissions: ReadonlyArray<LedgerTransaction>
  readonly head: () => LedgerChain.LedgerBlock
  /** The newest final block. */
  readonly final: () => LedgerChain.LedgerBlock
  readonly isCanonical: (block: Block) => boolean
  readonly withdraw: (account: string, amount: bigint) => void
  /** What a signer can pay gas with; plenty at first. */
  readonly gasMoneyOf: (lane: string) => bigint
  readonly setGasMoney: (lane: string, amount: bigint) => void
  /** The next slot of a signer; the pool counts unless told otherwise. */
  readonly nextSlot: (lane: string, counting?: SlotCount) => bigint
  readonly submit: (transaction: LedgerTransaction) => LedgerAnswer
  /** Mines one block of everything that is next in its lane and pays enough. */
  readonly mine: () => void
  /** Time (Unix seconds) has come this far: there is a block for every second of it, if they are not held. */
  readonly tick: (time: number) => void
  readonly receipt: (transaction: string) => LedgerReceipt | undefined
  /** Somebody else submits an authorization, in a block of its own. */
  readonly settleByStranger: (order: LedgerOrder) => void
  /** The payer uses an authorization up for nothing. */
  readonly burn: (order: LedgerOrder) => void
  /** Somebody else sends with a signer's key, so that its next slot is gone, and what waited for it. */
  readonly useSlot: (lane: string) => void
  /** The pool forgets everything. */
  readonly emptyPool: () => void
  /** The newest blocks give way to as many empty ones: their transactions have never been, nor do they wait. */
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

/** However long a ledger was not asked, it makes no more blocks at once. */
const mostBeats = 100

/** An empty ledger in good health. Its blocks are final when eight others lie on them. */
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
    const gasMoney = miner.gasMoneyOf(transaction.lane)
    return pool.offer(transaction, { base: market.base, gasMoney, mood: moodOf(faults) })
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

/** Puts what waits in the pool into blocks, and has its signers pay for it. */
const makeMiner = ({ accounts, chain, faults, market, pool }: Works) => {
  const gas = new Map<string, bigint>()
  const receipts = new Map<string, LedgerReceipt>()
  const gasMoneyOf = (lane: string) => gas.get(lane) ?? plentyOfGas

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
    gas.set(lane, gasMoneyOf(lane) - cost)
    if (slot !== undefined) block.signers.push(lane)
    block.undo.push(() => {
      receipts.delete(id)
      gas.set(lane, gasMoneyOf(lane) + cost)
      if (slot !== undefined) pool.unskip(lane)
    })
  }

  return {
    gasMoneyOf,
    setGasMoney: (lane: string, amount: bigint) => void gas.set(lane, amount),
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
