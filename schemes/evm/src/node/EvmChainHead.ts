/**
 * The chain's head and fees, asked at most twice at a time: everybody who asks while a question is under way shares the
 * next one, which begins after they asked.
 */
import { ChainUnavailable, type ChainHead } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "./EvmRpc.ts"

/** Tips move slowly: how long one is used, in milliseconds. */
const tipMillis = 10_000

/**
 * The most that is paid for a unit of gas where nothing else is said, in wei: 500 gwei. A node that names more is waited
 * out rather than believed.
 */
export const defaultMaxFeePerGas = 500_000_000_000n

/**
 * How many blocks behind the head a block counts as one that is not reorganised any more, where nothing else is said: two
 * epochs of Ethereum.
 */
export const defaultFinalityDepth = 64

/** What a survey holds the chain against. */
export interface Options {
  /** The most that may be paid for a unit of gas, in wei; default {@link defaultMaxFeePerGas}. */
  readonly maxFeePerGas?: bigint
  /** In blocks; default {@link defaultFinalityDepth}. */
  readonly finalityDepth?: number
}

/**
 * Makes a survey of a node's chain. The most a transaction may pay for a unit of gas is twice the base fee and the tip, so
 * that six full blocks in a row cannot price it out, and never above `maxFeePerGas`, its ceiling, as long as that buys a
 * place in the next block. A chain that costs more already shows it by a maximum above the ceiling.
 */
export const make = (rpc: EvmRpc.Shape, options: Options = {}): Effect.Effect<ChainHead, ChainUnavailable> => {
  const { finalityDepth = defaultFinalityDepth, maxFeePerGas: ceiling = defaultMaxFeePerGas } = options
  const depth = BigInt(finalityDepth)
  const tip = makeTip(rpc)
  const ask: Effect.Effect<ChainHead, ChainUnavailable> = Effect.gen(function* () {
    const priority = yield* tip
    const block = yield* rpc.getBlock("latest")
    if (block?.baseFeePerGas === undefined) {
      const message = `the node of ${rpc.network} shows no base fee in its latest block; a chain with EIP-1559 is needed`
      return yield* new ChainUnavailable({ network: rpc.network, message })
    }
    const { hash, number, timestamp } = block
    return {
      head: { number, hash, time: Number(timestamp) },
      final: number > depth ? number - depth : 0n,
      fees: { maximum: offer(block.baseFeePerGas, priority, ceiling), priority, ceiling }
    }
  })
  return shareNext(ask)
}

const offer = (baseFee: bigint, tip: bigint, ceiling: bigint): bigint => {
  const wanted = 2n * baseFee + tip
  return wanted > ceiling && baseFee + tip <= ceiling ? ceiling : wanted
}

const makeTip = (rpc: EvmRpc.Shape) => {
  let known: { readonly wei: bigint; readonly until: number } | undefined
  return Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (known !== undefined && now < known.until) return known.wei
    const wei = yield* rpc.maxPriorityFeePerGas
    known = { wei, until: now + tipMillis }
    return wei
  })
}

const shareNext = <A, E>(ask: Effect.Effect<A, E>): Effect.Effect<A, E> => {
  let running = false
  let next: Deferred.Deferred<A, E> | undefined
  const run = (answer: Deferred.Deferred<A, E>): Effect.Effect<void> =>
    Effect.flatMap(Deferred.into(ask, answer), () => {
      const following = next
      next = undefined
      running = following !== undefined
      return following === undefined ? Effect.void : run(following)
    })
  /** In one piece: a question that is noted as under way is asked, whatever happens to the one who wanted it. */
  const join = Effect.uninterruptible(
    Effect.suspend(() => {
      if (running) return Effect.succeed((next ??= Deferred.makeUnsafe<A, E>()))
      running = true
      const answer = Deferred.makeUnsafe<A, E>()
      return Effect.as(Effect.forkDetach(run(answer)), answer)
    })
  )
  return Effect.flatMap(join, (answer) => Deferred.await(answer))
}
