/**
 * The chain's time. A chain that makes blocks only when there are transactions shows it by the block that would come next.
 */
import { ChainUnavailable } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "./EvmRpc.ts"

/** Most chains make a block every 12 seconds or more often; a newest block that is so many seconds from our time is looked into. */
const usualSeconds = 15

/**
 * The chain's time, in seconds since 1970. One question, and a second one where the newest block is old or of the future.
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
    // Nodes without such a block, and those that show the newest one instead, leave it at that.
    const next = yield* Effect.catch(rpc.pendingTime, () => Effect.undefined)
    return next === undefined ? time : Math.max(time, Number(next))
  })
