/**
 * The chain's time. On a chain that makes blocks only when there are transactions it is the time of the next block.
 */
import { ChainUnavailable } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "./EvmRpc.ts"

/** Seconds between our clock and the newest block beyond which the next block is read: most chains need at most 12 a block. */
const usualSeconds = 15

/**
 * The chain's time, in seconds since 1970. One request, and a second one where the newest block is old or of the future.
 */
export const make = (rpc: EvmRpc.Shape): Effect.Effect<number, ChainUnavailable> =>
  Effect.gen(function* () {
    const newest = yield* rpc.getBlock("latest")
    if (newest === undefined) {
      return yield* new ChainUnavailable({ network: rpc.network, message: `The node of ${rpc.network} has no block` })
    }
    const time = Number(newest.timestamp)
    const own = (yield* Clock.currentTimeMillis) / 1000
    if (Math.abs(own - time) <= usualSeconds) return time
    // Some nodes have no pending block, and some show the newest one instead: then the newest block's time stands.
    const next = yield* Effect.catch(rpc.pendingTime, () => Effect.undefined)
    return next === undefined ? time : Math.max(time, Number(next))
  })
