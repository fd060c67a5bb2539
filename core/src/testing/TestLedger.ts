/**
 * A chain in memory that does what real ones do on their worst days, on demand: it loses answers, refuses, holds blocks
 * back, hides receipts, lets strangers use a slot or an authorization. Blocks, slots and receipts follow the rules of an
 * account chain; `TestScheme` settles on it. For tests of whatever settles, sells or pays, without a node.
 */

/**
 * What happens next on a ledger. Set and unset by the test, at any time.
 *
 * @category models
 */
export interface LedgerFaults {
  /** Nothing can be asked or sent. */
  down: boolean
  /** A transaction is taken, and its sender hears nothing. */
  loseAnswers: boolean
  /** So many transactions vanish on their way, and their senders hear nothing. */
  dropNext: number
  /** The node does not take transactions, with these words. */
  refusal: string | undefined
  /** The node does not take transactions below its fee, and says so in words that could also mean a used slot. */
  feeTooLow: boolean
  /** So many looks at a transaction show nothing yet. */
  hiddenLooks: number
  /** Transactions wait in the pool until `mine` is called. */
  holdBlocks: boolean
}

/**
 * A transfer as it is signed.
 *
 * @category models
 */
export interface LedgerOrder {
  readonly payer: string
  readonly payTo: string
  readonly amount: bigint
  readonly nonce: string
}

/**
 * A transaction in a signer's slot: a transfer, or nothing at all.
 *
 * @category models
 */
export interface LedgerTransaction {
  readonly id: string
  readonly lane: string
  readonly slot: bigint
  readonly order: LedgerOrder | undefined
}

/**
 * What the ledger knows of a mined transaction, or of the use of an authorization.
 *
 * @category models
 */
export interface LedgerReceipt {
  readonly transaction: string
  readonly block: bigint
  readonly paid: boolean
}

/**
 * What a node says to a transaction; `undefined` when the sender hears nothing.
 *
 * @category models
 */
export type LedgerAnswer = "accepted" | "slotUsed" | { readonly refused: string } | undefined

/**
 * A ledger.
 *
 * @category models
 */
export interface TestLedger {
  readonly faults: LedgerFaults
  /** The transfers that happened, oldest first. */
  readonly transfers: ReadonlyArray<LedgerOrder & { readonly transaction: string }>
  /** Every sending of a transaction that reached the node, repeats included. */
  readonly submissions: ReadonlyArray<LedgerTransaction>
  readonly head: () => bigint
  readonly balanceOf: (account: string) => bigint
  readonly deposit: (account: string, amount: bigint) => void
  readonly withdraw: (account: string, amount: bigint) => void
  /** The next free slot of a signer, the pool included. */
  readonly nextSlot: (lane: string) => bigint
  readonly submit: (transaction: LedgerTransaction) => LedgerAnswer
  /** Mines one block of everything that is next in its lane. */
  readonly mine: () => void
  readonly receipt: (transaction: string) => LedgerReceipt | undefined
  /** How an authorization was used; `paid` tells whether for its own transfer. */
  readonly useOf: (order: LedgerOrder) => LedgerReceipt | undefined
  /** Somebody else submits an authorization, in a block of its own. */
  readonly settleByStranger: (order: LedgerOrder) => void
  /** The payer uses an authorization up for nothing. */
  readonly burn: (order: LedgerOrder) => void
  /** Somebody else sends with a signer's key, so that a slot is gone. */
  readonly useSlot: (lane: string) => void
  /** The pool forgets everything. */
  readonly emptyPool: () => void
}

interface LedgerLane {
  next: bigint
  readonly pool: Map<bigint, LedgerTransaction>
}

const calm = (): LedgerFaults => ({
  down: false,
  loseAnswers: false,
  dropNext: 0,
  refusal: undefined,
  feeTooLow: false,
  hiddenLooks: 0,
  holdBlocks: false
})

/**
 * An empty ledger in good health.
 *
 * @category constructors
 */
export const make = (): TestLedger => {
  const faults = calm()
  const accounts = makeAccounts()
  const lanes = new Map<string, LedgerLane>()
  const receipts = new Map<string, LedgerReceipt>()
  const submissions: Array<LedgerTransaction> = []
  let head = 1n

  const laneOf = (address: string): LedgerLane => {
    const lane = lanes.get(address) ?? { next: 0n, pool: new Map() }
    lanes.set(address, lane)
    return lane
  }

  const minePool = () => {
    head++
    for (const lane of lanes.values()) {
      for (let next = lane.pool.get(lane.next); next !== undefined; next = lane.pool.get(lane.next)) {
        lane.pool.delete(lane.next++)
        const paid = next.order !== undefined && accounts.execute(next.order, next.id, head)
        receipts.set(next.id, { transaction: next.id, block: head, paid })
      }
    }
  }

  return {
    faults,
    transfers: accounts.transfers,
    submissions,
    head: () => head,
    balanceOf: accounts.balanceOf,
    deposit: accounts.deposit,
    withdraw: (account, amount) => accounts.deposit(account, -amount),
    nextSlot: (address) => {
      const { next, pool } = laneOf(address)
      let slot = next
      while (pool.has(slot)) slot++
      return slot
    },
    submit: (transaction) => {
      if (faults.dropNext > 0) return void faults.dropNext--
      submissions.push(transaction)
      const answer = offer(laneOf(transaction.lane), transaction, faults, receipts)
      if (answer === "accepted" && !faults.holdBlocks) minePool()
      return faults.loseAnswers ? undefined : answer
    },
    mine: minePool,
    receipt: (transaction) => {
      const receipt = receipts.get(transaction)
      if (receipt === undefined || faults.hiddenLooks === 0) return receipt
      faults.hiddenLooks--
      return undefined
    },
    useOf: accounts.useOf,
    settleByStranger: (order) => void accounts.execute(order, `stranger:${order.nonce}`, ++head),
    burn: (order) => accounts.burn(order, ++head),
    useSlot: (address) => {
      laneOf(address).next++
      head++
    },
    emptyPool: () => {
      for (const lane of lanes.values()) lane.pool.clear()
    }
  }
}

const offer = (
  lane: LedgerLane,
  transaction: LedgerTransaction,
  faults: LedgerFaults,
  receipts: ReadonlyMap<string, LedgerReceipt>
): LedgerAnswer => {
  const rival = lane.pool.get(transaction.slot)
  if (receipts.has(transaction.id)) return "slotUsed"
  if (rival?.id === transaction.id) return "accepted"
  if (faults.refusal !== undefined) return { refused: faults.refusal }
  if (faults.feeTooLow || transaction.slot < lane.next || rival !== undefined) return "slotUsed"
  lane.pool.set(transaction.slot, transaction)
  return "accepted"
}

const makeAccounts = () => {
  const balances = new Map<string, bigint>()
  const uses = new Map<string, LedgerReceipt>()
  const transfers: Array<LedgerOrder & { readonly transaction: string }> = []
  const balanceOf = (account: string) => balances.get(account) ?? 0n
  const deposit = (account: string, amount: bigint) => void balances.set(account, balanceOf(account) + amount)
  const keyOf = ({ nonce, payer }: LedgerOrder) => `${payer} ${nonce}`
  return {
    transfers,
    balanceOf,
    deposit,
    useOf: (order: LedgerOrder) => uses.get(keyOf(order)),
    burn: (order: LedgerOrder, block: bigint) =>
      void uses.set(keyOf(order), { transaction: `burn:${order.nonce}`, block, paid: false }),
    execute: (order: LedgerOrder, transaction: string, block: bigint): boolean => {
      if (uses.has(keyOf(order)) || balanceOf(order.payer) < order.amount) return false
      deposit(order.payer, -order.amount)
      deposit(order.payTo, order.amount)
      uses.set(keyOf(order), { transaction, block, paid: true })
      transfers.push({ ...order, transaction })
      return true
    }
  }
}
