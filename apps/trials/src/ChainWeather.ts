/**
 * What happens to a chain that no facilitator can help: fees rise, pools forget.
 */
import type { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import { type ChainRpc, Quantity } from "./ChainRpc.ts"

const Pool = Schema.Struct({ pending: Quantity, queued: Quantity })

const gwei = 10n ** 9n

/**
 * Waits until transactions wait in the pool, and makes the next block so dear that the node throws them away. Afterwards
 * blocks come every second again.
 *
 * @category combinators
 */
export const evict = Effect.fnUntraced(function* (chain: EvmTestChain.Shape, rpc: ChainRpc, baseFee = 50n * gwei) {
  yield* chain.setAutomine(false)
  yield* pooled(rpc)
  yield* chain.setNextBlockBaseFee(baseFee)
  yield* chain.mine()
  yield* chain.setIntervalMining(1)
})

/**
 * Waits until a transaction waits in the pool.
 *
 * @category combinators
 */
export const pooled = (rpc: ChainRpc): Effect.Effect<void> =>
  Effect.asVoid(
    Effect.repeat(Effect.andThen(Effect.sleep(50), rpc.ask(Pool, "txpool_status")), {
      until: ({ pending }) => pending > 0n
    })
  )
