/**
 * A modelled EVM chain: blocks made one by one out of a pool, branches that are given up, and everything as it was at any time,
 * so that a node can be behind. Its owner says when a block is made, and what time it is.
 */
import type { EvmAddress, EvmHex } from "@pontage/evm"

import * as EvmModelBlock from "./EvmModelBlock.ts"
import type { MinedTransaction, ModelBlock, ModelWorld } from "./EvmModelBlock.ts"
import * as EvmModelPool from "./EvmModelPool.ts"
import * as EvmModelState from "./EvmModelState.ts"
import type { EvmModelState as State } from "./EvmModelState.ts"
import type { ModelTransaction } from "./EvmModelTransaction.ts"
import * as GasMeter from "./GasMeter.ts"
import type { NodeDialect, NodeRefusal } from "./NodeDialect.ts"

/** How a chain begins. */
export interface ChainOptions extends ModelWorld {
  readonly dialect: NodeDialect
  /** The present time in seconds since 1970; default that of the newest block. */
  readonly now?: () => bigint
  readonly first: Pick<ModelBlock, "number" | "time" | "baseFee" | "gasUsed" | "state"> & { readonly hash?: EvmHex.Hex }
}

/** Where a transaction is in a branch. */
export interface ModelPlace {
  readonly block: ModelBlock
  readonly mined: MinedTransaction
}

/** How blocks are taken back. */
export interface Reorganisation {
  /** Blocks that give way. */
  readonly depth: number
  /** Blocks that take their place; default as many. */
  readonly length?: number
  /** The fate of a transaction in them: it is pending again, never existed, or is in the new block with this index (from 0). */
  readonly fate: (transaction: ModelTransaction) => "waits" | "vanishes" | number
  /** Whether a new block takes from the pool what was known at its time; default none does. */
  readonly takes?: (place: number) => boolean
  /** Seconds since 1970 of the new block of this place; default that of the one that gave way. */
  readonly time?: (place: number) => bigint
  /** Wei, the base fee of the new block of this place; default by the rule of EIP-1559. */
  readonly baseFee?: (place: number) => bigint
}

/** A chain. */
export interface EvmModelChain {
  readonly world: ModelWorld
  readonly dialect: NodeDialect
  readonly pool: EvmModelPool.EvmModelPool
  readonly head: () => ModelBlock
  /** The block with this number on the branch that ends with `head`. */
  readonly blockAt: (head: ModelBlock, number: bigint) => ModelBlock | undefined
  /** The block of this hash, on whatever branch. */
  readonly blockOf: (hash: EvmHex.Hex) => ModelBlock | undefined
  /** Where a transaction is on the branch that ends with `head`. */
  readonly find: (head: ModelBlock, transaction: EvmHex.Hex) => ModelPlace | undefined
  /** A transaction comes in at a node whose newest block is `head`, by default the chain's: why it is not taken, if it is not. */
  readonly submit: (transaction: ModelTransaction, head?: ModelBlock) => NodeRefusal | undefined
  /** Makes a block of what waits; its time is seconds since 1970. */
  readonly mine: (time: bigint) => ModelBlock
  readonly reorganise: (how: Reorganisation) => void
  /** The base fee of the next block, in wei. */
  readonly setNextBaseFee: (wei: bigint) => void
  readonly nextBaseFee: () => bigint
  /** Changes the state at the head, as no transaction could. */
  readonly write: (name: string, value: bigint) => void
  /** Adds to a number in the state of every block that is or was, as if it had been there from the beginning. */
  readonly endow: (name: string, amount: bigint) => void
}

/** Begins a chain. */
export const make = ({ dialect, first, now, ...world }: ChainOptions): EvmModelChain => {
  const genesis: ModelBlock = {
    ...first,
    hash: first.hash ?? EvmModelBlock.hashOf(world.chainId, first.number, 0),
    parent: undefined,
    mined: []
  }
  const blocks = makeBlocks(genesis)
  const clock = now ?? (() => blocks.head().time)
  const pool = EvmModelPool.make(clock)
  let endowedAt = first.time
  let givenFee: bigint | undefined
  let serial = 0
  const nextBaseFee = () => givenFee ?? EvmModelBlock.nextBaseFee(blocks.head(), world.blockGas)

  const makeBlock = (time: bigint, fill: (block: EvmModelBlock.BlockInMaking, baseFee: bigint) => void) => {
    const parent = blocks.head()
    const baseFee = nextBaseFee()
    givenFee = undefined
    const block = EvmModelBlock.begin(world, parent, time, baseFee)
    fill(block, baseFee)
    blocks.push(block.finish(EvmModelBlock.hashOf(world.chainId, parent.number + 1n, ++serial)))
    settle(pool, blocks.head(), dialect)
    return blocks.head()
  }
  const mine = (time: bigint) => makeBlock(time, (block, baseFee) => take(pool, block, baseFee))

  const submit: EvmModelChain["submit"] = (transaction, head = blocks.head()) => {
    const { state } = head
    if (blocks.find(head, transaction.hash) !== undefined) {
      const next = state.get(EvmModelState.nonceOf(transaction.from)) ?? 0n
      return { _tag: "NonceTooLow", next, given: transaction.nonce }
    }
    return pool.offer(transaction, {
      dialect,
      chainId: BigInt(world.chainId),
      nonce: state.get(EvmModelState.nonceOf(transaction.from)) ?? 0n,
      coin: state.get(EvmModelState.coinOf(transaction.from)) ?? 0n,
      least: GasMeter.least(transaction.data),
      blockGas: world.blockGas,
      baseFee: nextBaseFee()
    })
  }

  const reorganise: EvmModelChain["reorganise"] = ({ baseFee, depth, fate, length, takes, time }) => {
    const gone = blocks.cut(depth)
    const placed = new Map<number, Array<ModelTransaction>>()
    for (const { transaction } of gone.flatMap(({ mined }) => mined)) {
      const where = fate(transaction)
      if (where === "waits") pool.restore(transaction)
      else if (where !== "vanishes") placed.set(where, [...(placed.get(where) ?? []), transaction])
    }
    for (let place = 0; place < (length ?? gone.length); place++) {
      const at = time?.(place) ?? gone[place]?.time ?? blocks.head().time + 1n
      givenFee = baseFee?.(place)
      makeBlock(at, (block, fee) => {
        for (const transaction of placed.get(place) ?? []) block.include(transaction)
        // With what was added since, a transaction would succeed before there was anything to pay with.
        if (takes?.(place) === true && at >= endowedAt) take(pool, block, fee, at)
      })
    }
  }

  return {
    world,
    dialect,
    pool,
    head: blocks.head,
    blockAt: blocks.at,
    blockOf: blocks.of,
    find: blocks.find,
    submit,
    mine,
    reorganise,
    setNextBaseFee: (wei) => void (givenFee = wei),
    nextBaseFee,
    write: (name, value) => blocks.rewrite((state) => new Map(state).set(name, value)),
    endow: (name, amount) => {
      endowedAt = clock()
      blocks.endow(name, amount)
    }
  }
}

/** Every block that ever was, and those that are the chain. */
const makeBlocks = (genesis: ModelBlock) => {
  const canonical = [genesis]
  const every = new Map<EvmHex.Hex, ModelBlock>([[genesis.hash, genesis]])
  const places = new Map<EvmHex.Hex, Array<ModelPlace>>()
  const head = () => canonical.at(-1) ?? genesis
  const onChain = (number: bigint) => canonical[Number(number - genesis.number)]
  const at = (top: ModelBlock, number: bigint): ModelBlock | undefined => {
    if (number > top.number || number < genesis.number) return undefined
    let block: ModelBlock | undefined = top
    while (block !== undefined && block.number > number && onChain(block.number) !== block) block = block.parent
    return block === undefined || block.number === number ? block : onChain(number)
  }
  const push = (block: ModelBlock) => {
    canonical.push(block)
    every.set(block.hash, block)
    for (const mined of block.mined) {
      const { hash } = mined.transaction
      places.set(hash, [...(places.get(hash) ?? []), { block, mined }])
    }
  }
  return {
    head,
    at,
    push,
    of: (hash: EvmHex.Hex) => every.get(hash),
    find: (top: ModelBlock, transaction: EvmHex.Hex) =>
      places.get(transaction)?.find(({ block }) => at(top, block.number) === block),
    /** Takes the newest blocks off, all but the first one at most; oldest first. */
    cut: (depth: number): ReadonlyArray<ModelBlock> => canonical.splice(Math.max(1, canonical.length - depth)),
    rewrite: (change: (state: State) => State) => {
      const block = head()
      Object.assign(block, { state: change(block.state) })
    },
    /** Blocks that share a state go on sharing it. */
    endow: (name: string, amount: bigint) => {
      const richer = new Map<State, State>()
      for (const block of every.values()) {
        const state = richer.get(block.state) ?? new Map(block.state).set(name, (block.state.get(name) ?? 0n) + amount)
        richer.set(block.state, state)
        Object.assign(block, { state })
      }
    }
  }
}

/**
 * Fills a block with what waits: of the accounts' next transactions always the one that offers most. A block of another branch was
 * made at its own time, and holds only what was known by then.
 */
const take = (
  pool: EvmModelPool.EvmModelPool,
  block: EvmModelBlock.BlockInMaking,
  baseFee: bigint,
  time?: bigint
): void => {
  const isLater = ({ hash }: ModelTransaction) => time !== undefined && (pool.heardAt(hash) ?? time) > time
  const passed = new Set(
    pool
      .all()
      .filter(isLater)
      .map(({ hash }) => hash)
  )
  while (true) {
    const state = block.state()
    const ready = pool.all().filter((one) => !passed.has(one.hash) && EvmModelBlock.isPayable(one, state, baseFee))
    const best = ready.reduce<ModelTransaction | undefined>(dearest, undefined)
    if (best === undefined) return
    passed.add(best.hash)
    block.include(best)
  }
}

const dearest = (best: ModelTransaction | undefined, one: ModelTransaction): ModelTransaction =>
  best === undefined || one.maximum > best.maximum ? one : best

/** Behind a block: what is in it does not wait any more, nor what can never come, nor what a node throws away. */
const settle = (pool: EvmModelPool.EvmModelPool, head: ModelBlock, dialect: NodeDialect): void => {
  for (const transaction of pool.all()) {
    const next = nonceAt(head, transaction.from)
    if (transaction.nonce < next) pool.drop(transaction.hash)
    else if (transaction.nonce === next && !canStillCome(transaction, head, dialect)) dropRow(pool, transaction)
  }
}

/** With a transaction go those behind it: of the same account, without a gap. */
const dropRow = (pool: EvmModelPool.EvmModelPool, first: ModelTransaction): void => {
  for (
    let nonce = first.nonce, one = pool.at(first.from, nonce);
    one !== undefined;
    one = pool.at(first.from, ++nonce)
  ) {
    pool.drop(one.hash)
  }
}

const canStillCome = (
  { from, gas, maximum, value }: ModelTransaction,
  { baseFee, state }: ModelBlock,
  dialect: NodeDialect
): boolean =>
  gas * maximum + value <= (state.get(EvmModelState.coinOf(from)) ?? 0n) && (dialect.cheapWaits || maximum >= baseFee)

/** The nonce of an account's next transaction as of a block. */
export const nonceAt = ({ state }: ModelBlock, account: EvmAddress.Address): bigint =>
  state.get(EvmModelState.nonceOf(account)) ?? 0n
