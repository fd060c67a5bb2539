/**
 * The crossings of a facilitator: from a token of its network to the same token on another one, by an OFT of LayerZero or by Circle's
 * CCTP. Every constant is compared with both chains at start: the router's code, the tokens of both ends, their endpoints and their trust
 * in each other.
 */
import { type AssetTable, type ChainHead, type ChainUnavailable, Misconfigured, type Network } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmChainHead from "../node/EvmChainHead.ts"
import * as EvmLagGuard from "../node/EvmLagGuard.ts"
import * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import type * as EvmBridges from "../route/EvmBridges.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import type * as CctpAttester from "./CctpAttester.ts"
import * as CctpEnds from "./CctpEnds.ts"
import * as CoinPrice from "./CoinPrice.ts"
import type { CrossingEnd } from "./CrossingEnd.ts"
import * as DataFee from "./DataFee.ts"
import * as OftCalls from "./OftCalls.ts"

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
  /** The gas of the last payment over it; zero before. */
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
      const ends = yield* endsOf(rpc, near, chain, other, terms)
      if (ends === undefined) continue
      yield* sameDecimals(chain, other.token, asset.decimals)
      const attester = near.kind === "cctp" ? terms.attester : undefined
      crossings.push({ ...ends, attester, chain, decimals: asset.decimals, lastGas: { departing: 0n } })
    }
  }
  return crossings.length > 0 ? crossings : yield* noCrossing(rpc.network, chain.network)
})

/** The ends of a crossing between two bridges; `undefined` where none leads from one to the other. */
const endsOf = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  near: EvmBridges.EvmBridge,
  chain: FarChain,
  other: EvmBridges.EvmBridge,
  { attester }: ConnectionTerms
): Effect.fn.Return<Pick<BridgeCrossing, "near" | "far"> | undefined, Misconfigured | ChainUnavailable> {
  if (near.kind !== other.kind) return undefined
  if (near.kind === "cctp") {
    if (attester === undefined) return undefined
    return yield* CctpEnds.find({ rpc, bridge: near }, { rpc: chain.rpc, bridge: other })
  }
  const peer = yield* OftCalls.read(rpc, near.bridge, OftCalls.peers(other.endpointId))
  if (peer !== OftCalls.toWord(other.bridge)) return undefined
  const ends = { near: yield* endOf(rpc, near), far: yield* endOf(chain.rpc, other) }
  yield* trusts(chain, ends.far, ends.near)
  return ends
})

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

/** An OFT whose token and endpoint are as configured. */
const endOf = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  { bridge, endpointId, token }: EvmBridges.EvmBridge
): Effect.fn.Return<CrossingEnd, Misconfigured | ChainUnavailable> {
  const at = `the OFT ${EvmAddress.checksum(bridge)} on ${rpc.network}`
  const carried = yield* OftCalls.read(rpc, bridge, OftCalls.getters.token)
  if (carried !== OftCalls.toWord(token)) {
    return yield* wrong(
      `${at} carries ${shown(carried)}, not the token ${EvmAddress.checksum(token)}; correct the address in bridges`
    )
  }
  const word = yield* OftCalls.read(rpc, bridge, OftCalls.getters.endpoint)
  if (word === undefined) return yield* wrong(`${at} names no endpoint of LayerZero`)
  const endpoint = EvmAddress.fromTail(word)
  const id = yield* OftCalls.read(rpc, endpoint, OftCalls.getters.eid)
  if (id === undefined || BigInt(id) !== BigInt(endpointId)) {
    const found = id === undefined ? "none" : `${BigInt(id)}`
    return yield* wrong(`the endpoint of ${at} has the id ${found}, not ${endpointId}; correct endpointId in bridges`)
  }
  return { token, bridge, endpoint, endpointId }
})

const trusts = Effect.fnUntraced(function* ({ rpc }: FarChain, { bridge: oft }: CrossingEnd, other: CrossingEnd) {
  const peer = yield* OftCalls.read(rpc, oft, OftCalls.peers(other.endpointId))
  if (peer === OftCalls.toWord(other.bridge)) return
  const at = `the OFT ${EvmAddress.checksum(oft)} on ${rpc.network}`
  return yield* wrong(`${at} takes messages of ${shown(peer)}, not of ${EvmAddress.checksum(other.bridge)}`)
})

const sameDecimals = Effect.fnUntraced(function* ({ rpc }: FarChain, token: EvmAddress.Address, decimals: number) {
  const found = yield* OftCalls.read(rpc, token, OftCalls.getters.decimals)
  if (found !== undefined && BigInt(found) === BigInt(decimals)) return
  return yield* wrong(
    `the token ${EvmAddress.checksum(token)} on ${rpc.network} does not have ${decimals} decimals, as on the first network`
  )
})

const shown = (word: EvmHex.Hex | undefined) =>
  word === undefined ? "nothing" : EvmAddress.checksum(EvmAddress.fromTail(word))

const noCrossing = (network: string, other: string) =>
  wrong(`no known bridge leads from ${network} to ${other}; give it as one of bridges, or leave ${other} out`)

const wrong = (what: string): Effect.Effect<never, Misconfigured> =>
  Effect.fail(new Misconfigured({ message: `exactEvm.facilitator: routes: ${what}` }))
