/**
 * The local chain: blocks, pending transactions, and the resulting state. A transaction is executed when it is submitted, on top of
 * the pending ones, and again in its block; reads in between show the first execution.
 */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"

import type { Tvm } from "../machine/Tvm.ts"
import * as NodeRefusal from "../node/NodeRefusal.ts"
import type { NodeTransaction } from "../node/NodeTransaction.ts"
import * as DevBlock from "./DevBlock.ts"
import * as SignatureWeight from "./SignatureWeight.ts"
import * as TransactionExecution from "./TransactionExecution.ts"
import type { TronLedger } from "./TronLedger.ts"

/** Options of the chain. */
export interface Options {
  readonly ledger: TronLedger
  readonly tvm: Tvm
  readonly chainId: number
  /** Unix milliseconds. */
  readonly now: () => number
  /** Most pending transactions; default 2,000, as `node.maxTransactionPendingSize`. */
  readonly pendingLimit?: number
}

/** A transaction and its block; a pending one has none. */
export interface Found extends DevBlock.Executed {
  readonly block: DevBlock.DevBlock | undefined
}

/** The fate of transactions whose blocks the chain drops: they are dropped too, or pending again. */
export type Fate = "dropped" | "pending"

/** Milliseconds between the slots in which blocks are made. */
export const slotMillis = 3_000
const longestValidityMillis = 86_400_000n
const largestTransaction = 500 * 1024
const resultRoom = 128
/** Most blocks that a reorganisation can drop. */
const deepestReorganisation = 256
/** Time for which the cache of ids remembers one, in milliseconds: an hour. */
const cacheMillis = 3_600_000

/** A change of the state by a test; a reorganisation keeps it. */
interface Alteration {
  readonly mark: number
  readonly apply: () => void
}

/** The chain. Its effects run one after another. */
export class DevChain {
  readonly blocks: Array<DevBlock.DevBlock>
  readonly ledger: TronLedger
  readonly tvm: Tvm
  readonly now: () => number
  /** Whether ids are noted before all checks (`node.trxCacheEnable`). */
  isCachingIds = false
  private readonly turn = Semaphore.makeUnsafe(1)
  /** Mark of the state after each block, by number. */
  private readonly marks: Array<number>
  private readonly included = new Map<string, Found>()
  private readonly cache = new Map<string, number>()
  private pending: Array<DevBlock.Executed> = []
  private alterations: Array<Alteration> = []
  private forks = 0
  private readonly pendingLimit: number

  constructor({ chainId, ledger, now, pendingLimit = 2_000, tvm }: Options) {
    this.pendingLimit = pendingLimit
    this.ledger = ledger
    this.tvm = tvm
    this.now = now
    this.blocks = [DevBlock.genesis(chainId, now())]
    this.marks = [ledger.log.mark()]
  }

  /** The newest block. */
  get head(): DevBlock.DevBlock {
    const head = this.blocks.at(-1)
    if (head === undefined) throw new RangeError("A chain has a first block")
    return head
  }

  /** The block in which pending transactions are executed. */
  get next(): { readonly number: number; readonly timestamp: number } {
    return { number: this.head.number + 1, timestamp: Math.max(this.now(), this.head.timestamp + 1) }
  }

  /** Ids of the pending transactions, oldest first. */
  get waiting(): ReadonlyArray<string> {
    return this.pending.map(({ transaction }) => transaction.id)
  }

  /** Finds a transaction, included or pending. */
  find(id: string): Found | undefined {
    const pending = this.pending.find(({ transaction }) => transaction.id === id)
    return this.included.get(id) ?? (pending === undefined ? undefined : { ...pending, block: undefined })
  }

  /** Runs an effect while none of the chain's own runs. */
  exclusively<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return this.turn.withPermit(effect)
  }

  /** Accepts a transaction or rejects it, with java-tron's order of checks. */
  readonly push = (transaction: NodeTransaction): Effect.Effect<void, NodeRefusal.NodeRefusal> =>
    this.exclusively(Effect.suspend(() => this.accept(transaction)))

  private accept = Effect.fnUntraced({ self: this }, function* (this: DevChain, transaction: NodeTransaction) {
    if (this.pending.length >= this.pendingLimit) {
      return yield* new NodeRefusal.NodeRefusal({ code: "SERVER_BUSY", message: "Server busy." })
    }
    if (this.isCachingIds && this.isCached(transaction.id)) {
      const message = "Transaction already exists."
      return yield* new NodeRefusal.NodeRefusal({ code: "DUP_TRANSACTION_ERROR", message })
    }
    if (transaction.contracts === 0) return yield* NodeRefusal.invalid("Contract not exists")
    yield* this.checkTime(transaction, Math.max(this.head.timestamp + slotMillis, this.now()))
    const owner = transaction.contract?.owner_address ?? ""
    yield* SignatureWeight.check(transaction, this.ledger.accounts.get(owner))
    yield* this.checkPlace(transaction)
    if (this.find(transaction.id) !== undefined) {
      const message = "Dup transaction."
      return yield* new NodeRefusal.NodeRefusal({ code: "DUP_TRANSACTION_ERROR", message })
    }
    const receipt = yield* TransactionExecution.execute(this.ledger, this.tvm, transaction, this.next)
    this.pending.push({ transaction, receipt })
  })

  private isCached(id: string): boolean {
    const now = this.now()
    for (const [known, until] of this.cache) if (until <= now) this.cache.delete(known)
    const isKnown = this.cache.has(id)
    if (!isKnown) this.cache.set(id, now + cacheMillis)
    return isKnown
  }

  private checkTime({ expiration }: NodeTransaction, slot: number) {
    const latest = BigInt(this.head.timestamp) + longestValidityMillis
    return expiration < BigInt(slot) || expiration <= BigInt(this.head.timestamp) || expiration > latest
      ? new NodeRefusal.NodeRefusal({ code: "TRANSACTION_EXPIRATION_ERROR", message: "Transaction expired" })
      : Effect.void
  }

  private checkPlace({ referenceBytes, referenceHash, size }: NodeTransaction) {
    const block = this.reference(referenceBytes)
    if (block === undefined || DevBlock.referenceOf(block).hash !== referenceHash) {
      return new NodeRefusal.NodeRefusal({ code: "TAPOS_ERROR", message: "Tapos check error." })
    }
    return size + resultRoom > largestTransaction
      ? new NodeRefusal.NodeRefusal({ code: "TOO_BIG_TRANSACTION_ERROR", message: "Too big transaction" })
      : Effect.void
  }

  /** The newest block whose number ends in these two bytes. */
  private reference(bytes: string): DevBlock.DevBlock | undefined {
    if (bytes.length !== 4) return undefined
    const low = Number.parseInt(bytes, 16)
    const behind = (this.head.number - low) & 0xffff
    return this.blocks[this.head.number - behind]
  }

  /** Makes a block of the pending transactions that are still valid. */
  readonly produce = (): Effect.Effect<DevBlock.DevBlock> => this.exclusively(Effect.suspend(() => this.make()))

  private make = Effect.fnUntraced({ self: this }, function* (this: DevChain) {
    const block = this.next
    const executed = yield* this.replay(block)
    const made = DevBlock.after(this.head, block.timestamp, executed, this.forks)
    this.pending = []
    this.append(made)
    return made
  })

  /** Returns to the head's state and executes the pending transactions again; those that are no longer valid are left out. */
  private replay = Effect.fnUntraced(
    { self: this },
    function* (this: DevChain, block: { readonly number: number; readonly timestamp: number }) {
      this.ledger.log.rollback(this.headMark)
      const executed: Array<DevBlock.Executed> = []
      for (const { transaction } of this.pending) {
        const again = this.checkTime(transaction, block.timestamp).pipe(
          Effect.andThen(this.checkPlace(transaction)),
          Effect.andThen(TransactionExecution.execute(this.ledger, this.tvm, transaction, block))
        )
        const receipt = yield* Effect.option(again)
        if (receipt._tag === "Some") executed.push({ transaction, receipt: receipt.value })
      }
      return executed
    }
  )

  private get headMark(): number {
    return this.marks[this.head.number] ?? 0
  }

  private append(block: DevBlock.DevBlock) {
    this.blocks.push(block)
    this.marks.push(this.ledger.log.mark())
    for (const each of block.transactions) this.included.set(each.transaction.id, { ...each, block })
    const final = this.marks[block.number - deepestReorganisation]
    if (final === undefined) return
    this.ledger.log.forget(final)
    this.alterations = this.alterations.filter(({ mark }) => mark >= final)
  }

  /** Changes the state before the pending transactions. */
  readonly alter = (apply: () => void): Effect.Effect<void> =>
    this.exclusively(
      Effect.suspend(() => {
        this.ledger.log.rollback(this.headMark)
        this.alterations.push({ mark: this.headMark, apply })
        apply()
        this.marks[this.head.number] = this.ledger.log.mark()
        return this.executePending()
      })
    )

  /** Executes the pending transactions again. */
  private executePending(): Effect.Effect<void> {
    return Effect.map(this.replay(this.next), (executed) => {
      this.pending = executed
    })
  }

  /** Drops a pending transaction; `false` if it was not pending. */
  readonly drop = (id: string): Effect.Effect<boolean> =>
    this.exclusively(
      Effect.suspend(() => {
        const count = this.pending.length
        this.pending = this.pending.filter(({ transaction }) => transaction.id !== id)
        this.cache.delete(id)
        return Effect.as(this.executePending(), this.pending.length < count)
      })
    )

  /** Replaces the newest blocks by empty ones with the same times. */
  readonly reorganise = (depth: number, fate: Fate): Effect.Effect<void> =>
    this.exclusively(Effect.suspend(() => this.replace(depth, fate)))

  private replace = Effect.fnUntraced({ self: this }, function* (this: DevChain, depth: number, fate: Fate) {
    const count = Math.min(depth, this.head.number, deepestReorganisation)
    const dropped = this.blocks.splice(this.blocks.length - count, count)
    this.marks.length = this.blocks.length
    const mark = this.headMark
    this.ledger.log.rollback(mark)
    for (const alteration of this.alterations) if (alteration.mark >= mark) alteration.apply()
    this.marks[this.head.number] = this.ledger.log.mark()
    this.alterations = this.alterations.map((each) => (each.mark >= mark ? { ...each, mark } : each))
    const transactions = dropped.flatMap((block) => block.transactions)
    for (const { transaction } of transactions) this.included.delete(transaction.id)
    this.forks += 1
    for (const { timestamp } of dropped) this.append(DevBlock.after(this.head, timestamp, [], this.forks))
    if (fate === "pending") this.pending.unshift(...transactions)
    yield* this.executePending()
  })
}
