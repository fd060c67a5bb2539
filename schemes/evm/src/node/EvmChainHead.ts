/**
 * The chain's head and fees, by at most two requests at a time: callers that arrive during a request share the next one,
 * which begins after they have called.
 */
import { ChainUnavailable, type ChainHead } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "./EvmRpc.ts"

/** Milliseconds for which a tip is used: tips change slowly. */
const tipMillis = 10_000

/**
 * The default maximum price of a unit of gas, in wei: 500 gwei. While a node names more, nothing new is sent.
 */
export const defaultMaxFeePerGas = 500_000_000_000n

/**
 * The default number of blocks behind the head from which a block counts as final, that is not reorganised any more: two
 * epochs of Ethereum.
 */
export const defaultFinalityDepth = 64

/** The limits that the head is read with. */
export interface Options {
  /** The maximum price of a unit of gas, in wei; default {@link defaultMaxFeePerGas}. */
  readonly maxFeePerGas?: bigint
  /** In blocks; default {@link defaultFinalityDepth}. */
  readonly finalityDepth?: number
}

/**
 * Reads the head of a node's chain. The maximum price of a transaction's gas is twice the base fee plus the tip, which six
 * full blocks in a row do not exceed. It is capped at `maxFeePerGas`, the ceiling, while the ceiling covers the base fee and
 * the tip of the next block. Where the chain costs more than that, the maximum is above the ceiling.
 */
export const make = (rpc: EvmRpc.Shape, options: Options = {}): Effect.Effect<ChainHead, ChainUnavailable> => {
  const { finalityDepth = defaultFinalityDepth, maxFeePerGas: ceiling = defaultMaxFeePerGas } = options
  const depth = BigInt(finalityDepth)
  const tip = makeTip(rpc)
  const read: Effect.Effect<ChainHead, ChainUnavailable> = Effect.gen(function* () {
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
  return shareNext(read)
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

const shareNext = <A, E>(read: Effect.Effect<A, E>): Effect.Effect<A, E> => {
  let running = false
  let next: Deferred.Deferred<A, E> | undefined
  const run = (result: Deferred.Deferred<A, E>): Effect.Effect<void> =>
    Effect.flatMap(Deferred.into(read, result), () => {
      const following = next
      next = undefined
      running = following !== undefined
      return following === undefined ? Effect.void : run(following)
    })
  /** Uninterruptible: a read that is marked as running does run, even if its caller is interrupted. */
  const join = Effect.uninterruptible(
    Effect.suspend(() => {
      if (running) return Effect.succeed((next ??= Deferred.makeUnsafe<A, E>()))
      running = true
      const result = Deferred.makeUnsafe<A, E>()
      return Effect.as(Effect.forkDetach(run(result)), result)
    })
  )
  return Effect.flatMap(join, (result) => Deferred.await(result))
}
