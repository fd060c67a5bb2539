/**
 * A node that limits the block range of one log query and refuses longer ranges, as providers of nodes do.
 */
import { JsonRpcRelay } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import { Quantity } from "../../world/ChainRpc.ts"

const Range = Schema.Struct({ fromBlock: Quantity, toBlock: Quantity })
const decodeRange = Schema.decodeUnknownOption(Range)

/** A range that is open at an end is as long as the chain. */
const isTooWide = (filter: unknown, most: bigint): boolean =>
  Option.match(decodeRange(filter), {
    onNone: () => typeof filter !== "object" || filter === null || !("blockHash" in filter),
    onSome: ({ fromBlock, toBlock }) => toBlock - fromBlock + 1n > most
  })

/** Starts it before a node; it goes away with the scope. `refused` counts the questions that it has refused. */
export const make = Effect.fnUntraced(function* (upstream: string, most: bigint) {
  let refused = 0
  const pass = JsonRpcRelay.passTo(upstream)
  const relay = yield* JsonRpcRelay.make(
    JsonRpcRelay.each((request) => {
      if (request.method !== "eth_getLogs" || !isTooWide(request.params[0], most)) return pass(request)
      refused++
      return Promise.resolve({ error: { code: -32_005, message: `exceed maximum block range: ${most}` } })
    })
  )
  return { url: relay.url, refused: () => refused }
})
