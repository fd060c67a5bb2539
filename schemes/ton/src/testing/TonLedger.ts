/**
 * A chain of blocks over {@link TonExecution}: accounts, pending messages, and an index of transactions. A message from outside
 * is tried on the newest state before it is accepted, waits, and is then executed in a block. Messages between contracts are
 * executed in the same block (`instant`) or one hop a block, in the order in which they were sent.
 *
 * Every state and transaction belongs to a block, so it can be read as of an earlier block. The ledger forgets blocks older
 * than `keepBlocks`, except the newest state of each account: a ledger that runs for weeks keeps its size.
 */
import { createHash } from "node:crypto"

import { type Address, type Cell, Dictionary, type Message } from "@ton/core"
import { createEmptyShardAccount } from "@ton/sandbox"

import * as TonExecution from "./TonExecution.ts"

/** A transaction in a block. */
export interface LedgerTransaction {
  /** The account, raw. */
  readonly account: string
  readonly lt: bigint
  /** In lower-case hexadecimal. */
  readonly hash: string
  readonly block: number
  /** The time of its block, Unix seconds. */
  readonly utime: number
  /** The transaction as a bag of cells in base64. */
  readonly boc: string
  /** The sender of the message that caused it; `undefined` for a message from outside. */
  readonly cause: { readonly source: string; readonly createdLt: bigint } | undefined
  /** The messages it sent to other contracts. */
  readonly effects: ReadonlyArray<{ readonly destination: string; readonly createdLt: bigint }>
}

/** A block of the masterchain, and the one block of the basechain that it commits. */
export interface LedgerBlock {
  readonly seqno: number
  /** Unix seconds; never less than in the block before. */
  readonly utime: number
  /** In lower-case hexadecimal. */
  readonly hash: string
  readonly transactions: ReadonlyArray<LedgerTransaction>
}

/** Result of submitting a message from outside. */
export type LedgerSubmission =
  | { readonly _tag: "Taken" }
  | Extract<TonExecution.ExecutionResult, { readonly _tag: "NotAccepted" }>

/** Options of the ledger. */
export interface Options {
  readonly execution: TonExecution.TonExecution
  /** The chain's time, Unix seconds. */
  readonly now: () => number
  /** Blocks that are remembered. */
  readonly keepBlocks: number
}

/** The chain. */
export interface TonLedger {
  readonly head: () => LedgerBlock
  /** A remembered block. */
  readonly blockAt: (seqno: number) => LedgerBlock | undefined
  /** The state of an account as of a block, a bag of cells in base64. */
  readonly accountAt: (address: Address, seqno: number) => string
  /** The transactions of an account up to a block, oldest first. */
  readonly transactionsOf: (address: Address, seqno: number) => ReadonlyArray<LedgerTransaction>
  /** Accepts a message from outside if its account does; the next block executes it. */
  readonly submit: (destination: Address, message: Cell) => Promise<LedgerSubmission>
  /** Makes a block: pending messages between contracts, one hop each, then those from outside. */
  readonly block: () => Promise<LedgerBlock>
  /** Makes a block after which no message is pending. */
  readonly blockOfAll: () => Promise<LedgerBlock>
  /** Whether a message waits for a block. */
  readonly isBusy: () => boolean
  /** Writes a state without a transaction. */
  readonly put: (address: Address, account: string) => void
  /** Number of remembered states, transactions and blocks. */
  readonly size: () => { readonly states: number; readonly transactions: number; readonly blocks: number }
}

interface PendingMessage {
  readonly account: string
  readonly empty: string
  readonly message: Cell
}

interface StateVersion {
  readonly block: number
  readonly account: string
}

const ltStep = 1_000_000n
const transactionsPerTurn = 16

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")

/** The cells of the messages that a transaction sent. */
const sentMessages = (raw: Cell): ReadonlyArray<Cell> => {
  const messages = raw.beginParse().loadRef().beginParse()
  messages.loadMaybeRef()
  return messages.loadDict(Dictionary.Keys.Uint(15), Dictionary.Values.Cell()).values()
}

const internalOf = (message: Message | null | undefined) =>
  message?.info.type === "internal" ? message.info : undefined

const yieldTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

const emptyOf = (address: Address) => TonExecution.encodeAccount(createEmptyShardAccount(address))

/** Index of the first entry after a block, among entries in the order of their blocks. */
const upTo = (entries: ReadonlyArray<{ readonly block: number }>, block: number): number => {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((entries[middle]?.block ?? 0) <= block) low = middle + 1
    else high = middle
  }
  return low
}

/** States by account, each with its block. `forget` drops states that a newer one up to the block `before` replaces. */
const makeStates = () => {
  const versions = new Map<string, Array<StateVersion>>()
  return {
    at: (account: string, block: number): string | undefined => {
      const known = versions.get(account) ?? []
      return known[upTo(known, block) - 1]?.account
    },
    write: (account: string, version: StateVersion) => {
      const known = versions.get(account)
      if (known === undefined) versions.set(account, [version])
      else if (known.at(-1)?.block === version.block) known[known.length - 1] = version
      else known.push(version)
    },
    forget: (account: string, before: number) => {
      const known = versions.get(account)
      if (known !== undefined) known.splice(0, Math.max(0, upTo(known, before) - 1))
    },
    count: () => [...versions.values()].reduce((sum, known) => sum + known.length, 0)
  }
}

/** Transactions by account, in the order of their blocks. */
const makeIndex = () => {
  const known = new Map<string, Array<LedgerTransaction>>()
  return {
    upTo: (account: string, block: number) => {
      const transactions = known.get(account) ?? []
      return transactions.slice(0, upTo(transactions, block))
    },
    add: (transaction: LedgerTransaction) => {
      const transactions = known.get(transaction.account)
      if (transactions === undefined) known.set(transaction.account, [transaction])
      else transactions.push(transaction)
    },
    forget: (account: string, before: number) => {
      const transactions = known.get(account)
      if (transactions === undefined) return
      transactions.splice(0, upTo(transactions, before))
      if (transactions.length === 0) known.delete(account)
    },
    count: () => [...known.values()].reduce((sum, transactions) => sum + transactions.length, 0)
  }
}

/** The record of an executed message, and the messages that it sends. */
const recorded = (
  { account }: PendingMessage,
  { transaction }: Extract<TonExecution.ExecutionResult, { readonly _tag: "Executed" }>,
  block: Pick<LedgerBlock, "seqno" | "utime">
): { readonly entry: LedgerTransaction; readonly sent: ReadonlyArray<PendingMessage> } => {
  const cause = internalOf(transaction.inMessage)
  const effects: Array<LedgerTransaction["effects"][number]> = []
  const sent: Array<PendingMessage> = []
  const cells = sentMessages(transaction.raw)
  for (const [place, message] of transaction.outMessages.values().entries()) {
    const info = internalOf(message)
    const cell = cells[place]
    if (info === undefined || cell === undefined) continue
    const destination = info.dest.toRawString()
    effects.push({ destination, createdLt: info.createdLt })
    sent.push({ account: destination, empty: emptyOf(info.dest), message: cell })
  }
  const entry = {
    account,
    lt: transaction.lt,
    hash: transaction.hash().toString("hex"),
    block: block.seqno,
    utime: block.utime,
    boc: transaction.raw.toBoc().toString("base64"),
    cause: cause && { source: cause.src.toRawString(), createdLt: cause.createdLt },
    effects
  }
  return { entry, sent }
}

/** Runs work one after the other: requests during a block wait for its end. */
const makeSequence = () => {
  let last: Promise<unknown> = Promise.resolve()
  return <A>(work: () => Promise<A>): Promise<A> => {
    const mine = last.then(work, work)
    last = mine
    return mine
  }
}

/** A chain with one empty block. */
export const make = ({ execution, keepBlocks, now }: Options): TonLedger => {
  const states = makeStates()
  const index = makeIndex()
  const inTurn = makeSequence()
  const genesis: LedgerBlock = { seqno: 1, utime: now(), hash: sha256("genesis"), transactions: [] }
  const blocks = new Map<number, LedgerBlock>([[1, genesis]])
  const outside = new Map<string, PendingMessage>()
  let pendingHops: Array<PendingMessage> = []
  let head = genesis
  let lt = ltStep

  const stateOf = ({ account, empty }: Omit<PendingMessage, "message">) => states.at(account, head.seqno + 1) ?? empty

  const forget = (before: number) => {
    for (const [seqno, { transactions }] of blocks) {
      if (seqno > before) return
      for (const { account } of transactions) {
        states.forget(account, before)
        index.forget(account, before)
      }
      blocks.delete(seqno)
    }
  }

  const execute = async (pending: PendingMessage, block: Pick<LedgerBlock, "seqno" | "utime">) => {
    lt += ltStep
    const outcome = await execution.run(stateOf(pending), pending.message, { now: block.utime, lt })
    // A message from outside that the account does not accept any more leaves no trace.
    if (outcome._tag === "NotAccepted") return undefined
    const { entry, sent } = recorded(pending, outcome, block)
    states.write(pending.account, { block: block.seqno, account: outcome.account })
    index.add(entry)
    pendingHops.push(...sent)
    return entry
  }

  const makeBlock = async (hopsOfEach: number): Promise<LedgerBlock> => {
    const block = { seqno: head.seqno + 1, utime: Math.max(head.utime, now()) }
    const transactions: Array<LedgerTransaction> = []
    const executeAll = async (batch: ReadonlyArray<PendingMessage>) => {
      for (const pending of batch) {
        // oxlint-disable-next-line no-await-in-loop -- a ledger is sequential
        const entry = await execute(pending, block)
        if (entry !== undefined) transactions.push(entry)
        // oxlint-disable-next-line no-await-in-loop -- a ledger is sequential
        if (transactions.length % transactionsPerTurn === 0) await yieldTurn()
      }
    }
    const hops = pendingHops
    pendingHops = []
    const fromOutside = [...outside.values()]
    outside.clear()
    await executeAll([...hops, ...fromOutside])
    for (let hop = 1; hop < hopsOfEach && pendingHops.length > 0; hop++) {
      const next = pendingHops
      pendingHops = []
      // oxlint-disable-next-line no-await-in-loop -- a ledger is sequential
      await executeAll(next)
    }
    const hash = sha256([head.hash, block.seqno, block.utime, ...transactions.map((each) => each.hash)].join())
    head = { ...block, hash, transactions }
    blocks.set(head.seqno, head)
    forget(head.seqno - keepBlocks)
    return head
  }

  const take = async (destination: Address, message: Cell): Promise<LedgerSubmission> => {
    const pending = { account: destination.toRawString(), empty: emptyOf(destination), message }
    const time = { now: Math.max(head.utime, now()), lt: lt + ltStep }
    const outcome = await execution.run(stateOf(pending), message, time)
    if (outcome._tag === "NotAccepted") return outcome
    outside.set(message.hash().toString("hex"), pending)
    return { _tag: "Taken" }
  }

  return {
    head: () => head,
    blockAt: (seqno) => blocks.get(seqno),
    accountAt: (address, seqno) => states.at(address.toRawString(), seqno) ?? emptyOf(address),
    transactionsOf: (address, seqno) => index.upTo(address.toRawString(), seqno),
    submit: (destination, message) => inTurn(() => take(destination, message)),
    block: () => inTurn(() => makeBlock(1)),
    blockOfAll: () => inTurn(() => makeBlock(Number.POSITIVE_INFINITY)),
    isBusy: () => pendingHops.length > 0 || outside.size > 0,
    put: (address, account) => states.write(address.toRawString(), { block: head.seqno, account }),
    size: () => ({ states: states.count(), transactions: index.count(), blocks: blocks.size })
  }
}
