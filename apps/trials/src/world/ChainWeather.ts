/**
 * Events of a chain outside every facilitator's control: fees rise, pools forget.
 */
import type { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import { type ChainRpc, Quantity } from "./ChainRpc.ts"

const Pool = Schema.Struct({ pending: Quantity, queued: Quantity })

export const gwei = 10n ** 9n

/**
 * Waits until transactions wait in the pool, and makes the next block so dear that the node throws them away. Afterwards
 * blocks come every second again.
 */
export const evict = Effect.fnUntraced(function* (chain: EvmTestChain.Shape, rpc: ChainRpc, baseFee = 50n * gwei) {
  yield* chain.setIntervalMining(0)
  yield* chain.setAutomine(false)
  yield* pooled(rpc)
  yield* chain.setNextBlockBaseFee(baseFee)
  yield* chain.mine()
  yield* chain.setIntervalMining(1)
})

/** Waits until a transaction waits in the pool. */
export const pooled = (rpc: ChainRpc): Effect.Effect<void> =>
  Effect.asVoid(
    Effect.repeat(Effect.andThen(Effect.sleep(50), rpc.ask(Pool, "txpool_status")), {
      until: ({ pending }) => pending > 0n
    })
  )

const Content = Schema.Struct({
  pending: Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Struct({ hash: Schema.String })))
})

/** Has the node forget the first transaction in its pool, and with it all later ones of its sender. */
export const forget = Effect.fnUntraced(function* (rpc: ChainRpc) {
  const { pending } = yield* rpc.ask(Content, "txpool_content")
  for (const transactions of Object.values(pending)) {
    const [first] = Object.values(transactions)
    if (first !== undefined) yield* rpc.tell("anvil_dropTransaction", [first.hash])
  }
})
