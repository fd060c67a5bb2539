/**
 * The payer's own nodes, one a network: what its account has there, and nothing that others say.
 */
import { type Asset, ChainUnavailable, Misconfigured, type Network } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as OftCalls from "../bridge/OftCalls.ts"
import * as EvmAuthorizationSearch from "../evidence/EvmAuthorizationSearch.ts"
import * as EvmRpc from "../node/EvmRpc.ts"
import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"

/** Nodes by network. */
export interface TopUpNodes {
  readonly networks: ReadonlyArray<Network.Network>
  /** A network's node, which is proven to serve it; `undefined` on other networks. */
  readonly of: (network: string) => Effect.Effect<EvmRpc.Shape | undefined, ChainUnavailable>
  /** A block of a node before a time (Unix seconds), searched once: the looks for one arrival begin at the same block. */
  readonly blockBefore: (rpc: EvmRpc.Shape, time: number) => Effect.Effect<bigint, ChainUnavailable>
}

/** Makes the clients of nodes. It sends nothing yet. */
export const make = (urls: Readonly<Record<string, string>>): Result.Result<TopUpNodes, Misconfigured> =>
  Result.map(Result.all(Object.entries(urls).map(([name, url]) => proving(name, url))), (nodes) => {
    const byNetwork = new Map<string, Proving[1]>(nodes)
    const none = Effect.succeed(undefined)
    return {
      networks: nodes.map(([network]) => network),
      of: (network) => byNetwork.get(network) ?? none,
      blockBefore: blockBefore()
    }
  })

/** The search, which keeps the last block that it has found on each network. */
const blockBefore = () => {
  const found = new Map<string, { readonly time: number; readonly block: bigint }>()
  return Effect.fnUntraced(function* (rpc: EvmRpc.Shape, time: number) {
    const last = found.get(rpc.network)
    if (last?.time === time) return last.block
    const block = yield* EvmAuthorizationSearch.blockBefore(rpc, BigInt(time), yield* rpc.blockNumber)
    found.set(rpc.network, { time, block })
    return block
  })
}

type Proving = readonly [Network.Network, Effect.Effect<EvmRpc.Shape, ChainUnavailable>]

/** A network and its node, whose chain id is compared at the first use. */
const proving = (name: string, url: string): Result.Result<Proving, Misconfigured> => {
  const network = EvmNetwork.fromText(name)
  if (network === undefined) {
    return Result.fail(new Misconfigured({ message: `topUpEvm.topUps: nodes: "${name}" ${EvmNetwork.fault}` }))
  }
  return Result.map(Effect.runSync(Effect.result(EvmRpc.make({ url, network }))), (rpc): Proving => {
    let isProven = false
    const prove = Effect.gen(function* () {
      const served = EvmNetwork.fromChainId(yield* rpc.chainId)
      if (served !== network) {
        const message = `topUpEvm.topUps: the node of ${network} serves ${served}; correct it in nodes`
        return yield* new ChainUnavailable({ network, message })
      }
      isProven = true
      return rpc
    })
    return [network, Effect.suspend(() => (isProven ? Effect.succeed(rpc) : prove))]
  })
}

/** An account's balance of a token; `undefined` where there is no node. */
export const balanceOf = Effect.fnUntraced(function* (
  nodes: TopUpNodes,
  account: EvmAddress.Address,
  asset: Asset
): Effect.fn.Return<bigint | undefined, ChainUnavailable> {
  const rpc = yield* nodes.of(asset.network)
  if (rpc === undefined) return undefined
  const token = EvmAsset.domain(asset).verifyingContract
  const word = yield* OftCalls.read(rpc, token, `0x70a08231${AbiEncoding.address(account)}`)
  if (word !== undefined) return BigInt(word)
  const message = `${asset.symbol} on ${asset.network} returned no valid amount from balanceOf`
  return yield* new ChainUnavailable({ network: asset.network, message })
})
