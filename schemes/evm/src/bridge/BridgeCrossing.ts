/**
 * The crossings of a facilitator: from a token of its network to the same token on another one, by an OFT of LayerZero or by Circle's
 * CCTP. Every constant is compared with both chains at start: the router's code, the tokens of both ends, their endpoints and their trust
 * in each other.
 */
import {
  type Asset,
  type AssetTable,
  type ChainHead,
  type ChainUnavailable,
  Misconfigured,
  type Network
} from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmChainHead from "../node/EvmChainHead.ts"
import * as EvmLagGuard from "../node/EvmLagGuard.ts"
import * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import type * as EvmBridges from "../route/EvmBridges.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as BridgeEnds from "./BridgeEnds.ts"
import type * as CctpAttester from "./CctpAttester.ts"
import * as CoinPrice from "./CoinPrice.ts"
import type { CrossingEnd, CrossingSide } from "./CrossingEnd.ts"
import * as DataFee from "./DataFee.ts"
import * as OftEnds from "./OftEnds.ts"

/** Another network that payments go on to. */
export interface FarNetwork {
  readonly rpcUrl: string
  /** `eip155:<chain id>`, or a name such as `polygon`; default the network that the RPC serves. */
  readonly network?: string
  /** The price of one whole coin of that network, in millionths of a dollar; or the address of its price feed there. */
  readonly coinPrice: CoinPrice.Given
  /** Blocks behind its head from which a block counts as final; default 64. */
  readonly finalityDepth?: number
}

/** The other network of a crossing. */
export interface FarChain {
  readonly network: Network.Network
  readonly rpc: EvmRpc.Shape
  readonly lagGuard: EvmLagGuard.EvmLagGuard
  readonly chainHead: Effect.Effect<ChainHead, ChainUnavailable>
  readonly dataFee: DataFee.DataFee
  readonly coinPrice: CoinPrice.CoinPrice
}

/** A crossing. */
export interface BridgeCrossing {
  /** The issuer's attester of a crossing over CCTP; `undefined` for an OFT. */
  readonly attester: CctpAttester.CctpAttester | undefined
  readonly near: CrossingEnd
  readonly far: CrossingEnd
  readonly chain: FarChain
  /** The digits behind the point of both tokens. */
  readonly decimals: number
  /** The gas of the last payment of a plain account over it, refused for its fee or not; zero before. */
  readonly lastGas: { departing: bigint }
}

/** The terms of connections to other networks. */
export interface ConnectionTerms extends CoinPrice.FeedTerms {
  /** The time for which a node is waited for; `undefined` for the default. */
  readonly rpcTimeoutMillis: number | undefined
  /** The attester of CCTP; without one no payments go over it. */
  readonly attester: CctpAttester.CctpAttester | undefined
}

/** Finds the crossings to a network, each proven; none is `Misconfigured`. */
export const find = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  assets: AssetTable.AssetTable,
  bridges: EvmBridges.EvmBridges,
  far: FarNetwork,
  terms: ConnectionTerms
): Effect.fn.Return<ReadonlyArray<BridgeCrossing>, Misconfigured | ChainUnavailable> {
  const chain = yield* connected(far, terms)
  const crossings: Array<BridgeCrossing> = []
  for (const near of bridges.on(rpc.network)) {
    const asset = assets.find(rpc.network, near.token)
    if (asset === undefined || !EvmAsset.hasAuthorizations(asset)) continue
    for (const other of bridges.on(chain.network)) {
      const [side, otherSide] = [
        { rpc, bridge: near },
        { rpc: chain.rpc, bridge: other }
      ]
      if (!(yield* leads(side, other, terms))) continue
      // The costs of a crossing are counted in dollars, and its fee is taken in the token.
      if (!asset.dollar) yield* noDollar(asset)
      const ends = yield* Effect.catchTag(BridgeEnds.find(side, otherSide, asset.decimals), "Misconfigured", (error) =>
        wrong(error.message)
      )
      const attester = near.kind === "cctp" ? terms.attester : undefined
      crossings.push({ ...ends, attester, chain, decimals: asset.decimals, lastGas: { departing: 0n } })
    }
  }
  return crossings.length > 0 ? crossings : yield* noCrossing(rpc.network, chain.network)
})

/** Whether a crossing leads from one bridge to another. */
const leads = (side: CrossingSide, other: EvmBridges.EvmBridge, { attester }: ConnectionTerms) => {
  if (side.bridge.kind !== other.kind) return Effect.succeed(false)
  return other.kind === "cctp" ? Effect.succeed(attester !== undefined) : OftEnds.leads(side, other)
}

const connected = Effect.fnUntraced(function* (
  { coinPrice: price, finalityDepth, network: given, rpcUrl: url }: FarNetwork,
  terms: ConnectionTerms
): Effect.fn.Return<FarChain, Misconfigured | ChainUnavailable> {
  const { rpcTimeoutMillis: timeout } = terms
  const limits = timeout === undefined ? {} : { timeout }
  const named = given === undefined ? "eip155" : (EvmNetwork.fromText(given) ?? given)
  const served = EvmNetwork.fromChainId(yield* (yield* EvmRpc.make({ url, network: named, ...limits })).chainId)
  const network = given === undefined ? served : EvmNetwork.fromText(given)
  if (network === undefined) return yield* wrong(`network: "${given}" ${EvmNetwork.fault}`)
  if (network !== served) return yield* wrong(`the RPC configured for ${network} serves ${served}`)
  const lagGuard = EvmLagGuard.make(yield* EvmRpc.make({ url, network, ...limits }))
  const { rpc } = lagGuard
  const chainHead = EvmChainHead.make(rpc, finalityDepth === undefined ? {} : { finalityDepth })
  const coinPrice = yield* CoinPrice.make(rpc, price, terms)
  return { network, rpc, lagGuard, chainHead, coinPrice, dataFee: yield* DataFee.make(rpc) }
})

const noDollar = ({ address, symbol }: Asset) =>
  wrong(`${symbol} (${address}) is no dollar; its fee cannot be quoted: leave its ends out of bridges`)

const noCrossing = (network: string, other: string) =>
  wrong(`no known bridge leads from ${network} to ${other}; give it as one of bridges, or leave ${other} out`)

const wrong = (what: string): Effect.Effect<never, Misconfigured> =>
  Effect.fail(new Misconfigured({ message: `exactEvm.facilitator: routes: ${what}` }))
