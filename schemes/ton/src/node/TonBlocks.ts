/**
 * Whether a block is the masterchain's. It takes nothing back, so that a block once shown is not asked for again for a while:
 * payments that hang until the end of their validity have their block asked for again and again.
 */
import { type Block, ChainUnavailable } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type * as TonRpc from "./TonRpc.ts"

/** How long a block that was shown counts as shown, in milliseconds, and how many are remembered. */
const shownMillis = 600_000
const capacity = 10_000

/** Makes the question over a node. */
export const make = (rpc: TonRpc.TonRpc): ((block: Block) => Effect.Effect<boolean, ChainUnavailable>) => {
  const shown = BoundedMap.oldestOut<string, number>(capacity)
  return Effect.fnUntraced(function* ({ hash, number }: Block) {
    const key = `${number} ${hash}`
    const now = yield* Clock.currentTimeMillis
    const at = shown.get(key)
    if (at !== undefined && now - at < shownMillis) return true
    const found = yield* rpc.block(number)
    if (found === undefined) {
      // A node that does not know the place yet has fallen behind, or another has: that proves nothing.
      const message = `the node of ${rpc.network} does not know block ${number}`
      return yield* new ChainUnavailable({ network: rpc.network, message })
    }
    if (found.hash !== hash) return false
    shown.set(key, now)
    return true
  })
}
