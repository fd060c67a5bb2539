/**
 * The bridges of top-ups, compared with both networks by the payer's own nodes before anything is signed. A line of the table that a
 * network contradicts is used for nothing; what was right once is not compared again.
 */
import { type Asset, type ChainUnavailable, Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as BridgeEnds from "../bridge/BridgeEnds.ts"
import type { EvmBridge, EvmBridges } from "../route/EvmBridges.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import type { TopUpNodes } from "./TopUpNodes.ts"

/** Fails where a network contradicts the bridge from one asset to another one. */
export type TopUpEnds = (from: Asset, to: Asset) => Effect.Effect<void, ChainUnavailable | Misconfigured>

/** Makes the comparison, which remembers what was right. */
export const make = (nodes: TopUpNodes, bridges: EvmBridges): TopUpEnds => {
  const proven = new Set<string>()
  const sideOf = Effect.fnUntraced(function* (asset: Asset) {
    const bridge: EvmBridge | undefined = bridges.of(asset.network, EvmAsset.domain(asset).verifyingContract)
    const rpc = yield* nodes.of(asset.network)
    return bridge && rpc && { bridge, rpc }
  })
  return Effect.fnUntraced(function* (from, to) {
    const name = `${from.network} ${from.address} ${to.network} ${to.address}`
    if (proven.has(name)) return
    const [near, far] = [yield* sideOf(from), yield* sideOf(to)]
    if (near === undefined || far === undefined) {
      return yield* new Misconfigured({
        message: `no bridge with two nodes leads from ${from.network} to ${to.network}`
      })
    }
    yield* BridgeEnds.find(near, far, from.decimals)
    proven.add(name)
  })
}
