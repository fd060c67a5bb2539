/**
 * The chain's head and fees, asked at most twice at a time: everybody who asks while a question is under way shares the
 * next one, which begins after they asked.
 */
import { ChainUnavailable, type Survey } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "./EvmRpc.ts"

/** Tips move slowly: how long one is used, in milliseconds. */
const tipMillis = 10_000

/**
 * The most that is paid for a unit of gas where nothing else is said, in wei: 500 gwei. A node that names more is asked
 * again later rather than believed.
 *
 * @category constants
 */
export const defaultMaxFeePerGas = 500_000_000_000n

/**
 * Makes a survey of a node's chain. The most a transaction may pay for a unit of gas is twice the base fee and the tip, so
 * that six full blocks in a row cannot price it out, and never above `maxFeePerGas` (wei): a chain that costs more already
 * is `ChainUnavailable`.
 *
 * @category constructors
 */
export const make = (
  rpc: EvmRpc.Shape,
  maxFeePerGas: bigint = defaultMaxFeePerGas
): Effect.Effect<Survey, ChainUnavailable> => {
  const tip = makeTip(rpc)
  const ask: Effect.Effect<Survey, ChainUnavailable> = Effect.gen(function* () {
    const priority = yield* tip
    const block = yield* rpc.getBlock("latest")
    if (block?.baseFeePerGas === undefined) {
      const message = `the node of ${rpc.network} shows no base fee in its latest block; a chain with EIP-1559 is needed`
      return yield* new ChainUnavailable({ network: rpc.network, message })
    }
    if (block.baseFeePerGas + priority > maxFeePerGas) {
      const message = `gas on ${rpc.network} costs ${block.baseFeePerGas + priority} wei a unit, more than the ${maxFeePerGas} that maxFeePerGas allows`
      return yield* new ChainUnavailable({ network: rpc.network, message })
    }
    const wanted = 2n * block.baseFeePerGas + priority
    return { head: block.number, fees: { maximum: wanted < maxFeePerGas ? wanted : maxFeePerGas, priority } }
  })
  return shareNext(ask)
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
  return Effect.suspend(() => {
    if (running) return Deferred.await((next ??= Deferred.makeUnsafe<A, E>()))
    running = true
    const answer = Deferred.makeUnsafe<A, E>()
    return Effect.andThen(Effect.forkDetach(run(answer)), Deferred.await(answer))
  })
}
