/**
 * Whether a block is the masterchain's. The masterchain reverts nothing, so a block once shown is not requested again for a
 * while: the engine checks the block of a pending payment again and again.
 */
import { type Block, ChainUnavailable } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type * as TonRpc from "./TonRpc.ts"

/** Milliseconds that a shown block is remembered, and the number of blocks. */
const shownMillis = 600_000
const capacity = 10_000

/** Makes the check over a node. */
export const make = (rpc: TonRpc.TonRpc): ((block: Block) => Effect.Effect<boolean, ChainUnavailable>) => {
  const shown = BoundedMap.oldestOut<string, number>(capacity)
  return Effect.fnUntraced(function* ({ hash, number }: Block) {
    const key = `${number} ${hash}`
    const now = yield* Clock.currentTimeMillis
    const at = shown.get(key)
    if (at !== undefined && now - at < shownMillis) return true
    const found = yield* rpc.block(number)
    if (found === undefined) {
      // This node or the one that showed the block is behind: that proves nothing.
      const message = `the node of ${rpc.network} does not know block ${number}`
      return yield* new ChainUnavailable({ network: rpc.network, message })
    }
    if (found.hash !== hash) return false
    shown.set(key, now)
    return true
  })
}
