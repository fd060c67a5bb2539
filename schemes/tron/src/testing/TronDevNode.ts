/**
 * A local TRON node as a scoped resource: the part of java-tron's full-node HTTP API that payments need, on a port of its own, over
 * a chain in memory. The package's README lists its differences from mainnet. Use it if a test needs a bare chain; `TronTestChain`
 * adds a token and funded accounts.
 *
 * Its time is the Effect `Clock`'s plus an offset, so that a test can move it.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import * as Layer from "effect/Layer"

import * as ChainParameters from "./ledger/ChainParameters.ts"
import { DevChain, type Fate, slotMillis } from "./ledger/DevChain.ts"
import { TronLedger } from "./ledger/TronLedger.ts"
import * as Tvm from "./machine/Tvm.ts"
import * as NodeAddress from "./node/NodeAddress.ts"
import * as NodeBroadcast from "./node/NodeBroadcast.ts"
import * as NodeCalls from "./node/NodeCalls.ts"
import type { Endpoints } from "./node/NodeEndpoint.ts"
import * as NodeFault from "./node/NodeFault.ts"
import * as NodeHttp from "./node/NodeHttp.ts"
import * as NodeQueries from "./node/NodeQueries.ts"

/**
 * Block production: `instant` makes a block for each transaction at once and an empty one after three seconds without a block;
 * `everyMillis` makes one block per interval, in milliseconds; `manual` makes blocks only by `mine`.
 */
export type Mining = "instant" | "manual" | { readonly everyMillis: number }

/** Options of the node. */
export interface Options {
  /** TCP port; default a free one. */
  readonly port?: number
  /** Default `instant`. */
  readonly mining?: Mining
  /** Last four bytes of the first block's id; default an id of no known network. */
  readonly chainId?: number
  /** Time of the first block, in Unix milliseconds; default the clock's. */
  readonly startTime?: number
  /** Most pending transactions before the node is busy; default 2,000. */
  readonly pendingLimit?: number
  /** Balances in sun by address, from the first block on. */
  readonly balances?: Readonly<Record<string, bigint>>
  /** Prices and limits that differ from mainnet's. */
  readonly parameters?: Partial<ChainParameters.ChainParameters>
}

/** The controls that a local chain has and a real one lacks. Addresses may have any form. */
export interface Shape {
  /** Base URL of the HTTP API, on the loopback interface. */
  readonly rpcUrl: string
  readonly network: "tron:local"
  readonly chainId: number
  /** Makes blocks now; default one. */
  readonly mine: (blocks?: number) => Effect.Effect<void>
  /** Changes the block production. */
  readonly setMining: (mining: Mining) => Effect.Effect<void>
  /** The chain's time in Unix milliseconds. */
  readonly now: Effect.Effect<number>
  /** Moves the chain's time ahead; existing blocks keep theirs, and under `instant` another one follows. */
  readonly advance: (millis: number) => Effect.Effect<void>
  /** Sets the chain's time, in Unix milliseconds. */
  readonly setTime: (millis: number) => Effect.Effect<void>
  /** Gives an account sun, and activates it. */
  readonly fund: (address: string, sun: bigint) => Effect.Effect<void>
  /** Removes all of an account's sun. */
  readonly drain: (address: string) => Effect.Effect<void>
  /** Balance of an account, in sun. */
  readonly balance: (address: string) => Effect.Effect<bigint>
  /** Sets the penalty of a contract, in ten thousandths of the energy it takes: mainnet's USDT has 34,000 at most. */
  readonly setEnergyFactor: (contract: string, factor: bigint) => Effect.Effect<void>
  /** Replaces the newest blocks by empty ones; their transactions are dropped (default) or pending again. */
  readonly reorganise: (blocks: number, fate?: Fate) => Effect.Effect<void>
  /** Drops a pending transaction; `false` if it was not pending. */
  readonly drop: (id: string) => Effect.Effect<boolean>
  /** Ids of the pending transactions. */
  readonly waiting: Effect.Effect<ReadonlyArray<string>>
  /** Plants a fault. */
  readonly plant: (fault: NodeFault.NodeFault, place?: NodeFault.FaultPlace) => Effect.Effect<void>
  /** Removes all faults. */
  readonly heal: Effect.Effect<void>
  /** Switches the cache of ids: with it the node notes ids before it checks, so a copy of a rejected transaction is a duplicate. */
  readonly setIdCache: (on: boolean) => Effect.Effect<void>
  /** Number of requests by path. */
  readonly requests: Effect.Effect<ReadonlyMap<string, number>>
}

/** The service. */
export class TronDevNode extends Context.Service<TronDevNode, Shape>()("@pontage/tron/testing/TronDevNode") {}

/** Default chain id of a local chain: `TRON` in ASCII. */
export const defaultChainId = 0x54524f4e

const makeLedger = ({ balances = {}, parameters }: Options, now: number): TronLedger => {
  const ledger = new TronLedger({ ...ChainParameters.mainnet, ...parameters })
  for (const [address, sun] of Object.entries(balances)) ledger.add(hexOf(address), sun, now)
  return ledger
}

const hexOf = (address: string): string => NodeAddress.toHex(address) ?? ""

/** Makes blocks by the clock until interrupted. */
const produceOnTime = (chain: DevChain, mining: Mining): Effect.Effect<void> => {
  if (mining === "manual") return Effect.void
  const everyMillis = mining === "instant" ? slotMillis : mining.everyMillis
  const block = mining === "instant" ? keepUp(chain) : chain.produce()
  return Effect.forever(Effect.andThen(Effect.sleep(everyMillis), block))
}

/** Makes a block if the newest is a slot old. */
const keepUp = (chain: DevChain) =>
  Effect.suspend(() => (chain.now() - chain.head.timestamp < slotMillis ? Effect.void : Effect.asVoid(chain.produce())))

/** Accepts transactions as the chain does, unless a fault rejects them, and makes a block at once under `instant`. */
const acceptFor =
  (chain: DevChain, mining: () => Mining) =>
  (fault: NodeFault.NodeFault | undefined): NodeBroadcast.Accept =>
  (transaction) => {
    const mined = Effect.suspend(() => (mining() === "instant" ? Effect.asVoid(chain.produce()) : Effect.void))
    const accepted = Effect.andThen(chain.push(transaction), mined)
    if (fault?._tag !== "Refuse") return accepted
    const refusal = Effect.fail(NodeFault.refusalOf(fault))
    return fault.isTaken === true ? Effect.andThen(Effect.ignore(accepted), refusal) : refusal
  }

/** A node with its chain. */
export interface StartedNode {
  readonly node: Shape
  readonly chain: DevChain
}

/**
 * Starts a node and stops it when the scope closes. `prepare` fills the state of the first block.
 *
 * @throws TronDevNodeFailed if the port is not available.
 */
export const start = Effect.fnUntraced(function* (
  options: Options,
  prepare: (ledger: TronLedger, tvm: Tvm.Tvm, now: number) => Effect.Effect<void>
) {
  const clock = yield* Clock.Clock
  const { chainId = defaultChainId } = options
  let offset = options.startTime === undefined ? 0 : options.startTime - clock.currentTimeMillisUnsafe()
  let mining: Mining = options.mining ?? "instant"
  const now = () => clock.currentTimeMillisUnsafe() + offset
  const ledger = makeLedger(options, now())
  const tvm = yield* Tvm.make(ledger, chainId)
  yield* prepare(ledger, tvm, now())
  const { pendingLimit } = options
  const chain = new DevChain({ ledger, tvm, chainId, now, ...(pendingLimit !== undefined && { pendingLimit }) })
  // Tools cannot read a chain that has only its first block.
  yield* chain.produce()
  const faults = NodeFault.make()
  const requests = new Map<string, number>()
  const fixed: Endpoints = { ...NodeQueries.make(chain), ...NodeCalls.make(chain) }
  const accept = acceptFor(chain, () => mining)
  const healthy = { ...fixed, ...NodeBroadcast.make(chain, accept(undefined)) }
  const rpcUrl = yield* NodeHttp.make({
    port: options.port ?? 0,
    chainId,
    faults,
    endpoints: (fault) => (fault === undefined ? healthy : { ...fixed, ...NodeBroadcast.make(chain, accept(fault)) }),
    onRequest: (path) => requests.set(path, (requests.get(path) ?? 0) + 1)
  })
  const production = yield* FiberHandle.make()
  yield* FiberHandle.run(production, produceOnTime(chain, mining))
  const moveTime = (millis: number) =>
    Effect.suspend(() => {
      offset += millis
      return mining === "instant" ? keepUp(chain) : Effect.void
    })
  const node = TronDevNode.of({
    ...stateControls(chain),
    rpcUrl,
    network: "tron:local",
    chainId,
    setMining: (next) =>
      Effect.suspend(() => {
        mining = next
        return Effect.asVoid(FiberHandle.run(production, produceOnTime(chain, next)))
      }),
    now: Effect.sync(now),
    advance: moveTime,
    setTime: (millis) => Effect.suspend(() => moveTime(millis - now())),
    plant: (fault, place) => Effect.sync(() => faults.plant(fault, place)),
    heal: Effect.sync(faults.heal),
    requests: Effect.sync(() => new Map(requests))
  })
  const started: StartedNode = { node, chain }
  return started
})

/**
 * Starts a bare node and stops it when the scope closes.
 *
 * @throws TronDevNodeFailed if the port is not available.
 */
export const make = (options: Options = {}) =>
  Effect.map(
    start(options, () => Effect.void),
    ({ node }) => node
  )

const stateControls = (chain: DevChain) => {
  const { ledger } = chain
  return {
    mine: (blocks = 1) => Effect.asVoid(Effect.repeat(chain.produce(), { times: blocks - 1 })),
    fund: (address: string, sun: bigint) => chain.alter(() => ledger.add(hexOf(address), sun, chain.now())),
    drain: (address: string) =>
      chain.alter(() => ledger.update(hexOf(address), (account) => ({ ...account, balance: 0n }))),
    balance: (address: string) => Effect.sync(() => ledger.accounts.get(hexOf(address))?.balance ?? 0n),
    setEnergyFactor: (contract: string, energyFactor: bigint) =>
      chain.alter(() => {
        const found = ledger.contracts.get(hexOf(contract))
        if (found !== undefined) ledger.contracts.set(found.address, { ...found, energyFactor })
      }),
    reorganise: (blocks: number, fate: Fate = "dropped") => chain.reorganise(blocks, fate),
    drop: (id: string) => chain.drop(id),
    waiting: Effect.sync(() => chain.waiting),
    setIdCache: (on: boolean) => Effect.sync(() => void (chain.isCachingIds = on))
  }
}

/** {@link make} as a layer. */
export const layer = (options: Options = {}): Layer.Layer<TronDevNode, NodeHttp.TronDevNodeFailed> =>
  Layer.effect(TronDevNode, make(options))
