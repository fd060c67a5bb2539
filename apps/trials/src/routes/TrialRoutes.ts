/**
 * The second chain of a trial, with LayerZero or CCTP between it and the first: what a facilitator needs to settle payments by routes, where
 * the load's routes lead, and the executor, which holds the second leg by attesting nothing.
 */
import { BridgedChains, CctpChains, LocalAttester, RoutedSchemes } from "@pontage/devnet/bridge"
import { type Anvil, EvmTestChain } from "@pontage/evm/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Address, isAddress } from "viem"

import * as CctpFacts from "../audit/CctpFacts.ts"
import * as CrossingFacts from "../audit/CrossingFacts.ts"
import * as ChainRpc from "../world/ChainRpc.ts"
import type { TrialRandom } from "../world/TrialRandom.ts"
import * as CctpCarrier from "./CctpCarrier.ts"
import * as LayerZeroCarrier from "./LayerZeroCarrier.ts"
import type { OnwardLeg } from "./OnwardLeg.ts"
import * as TrialExecutor from "./TrialExecutor.ts"
import * as TrialRoute from "./TrialRoute.ts"

/** The options of the second leg. */
export interface Options {
  readonly random: TrialRandom
  /** Seconds between blocks. */
  readonly blockTime: number
  readonly shares?: TrialExecutor.Shares | undefined
  /** The bridge; default an OFT of LayerZero. */
  readonly bridge?: "oft" | "cctp" | undefined
}

/**
 * Seconds by which the chains' clocks begin in the past: each of the many blocks of the deployments takes one, and a chain that is
 * ahead of its facilitator makes it wait. Afterwards they are put right.
 */
const headStart = 600

/** A chain whose clock was behind has the machine's time from its next block on. */
export const putRight = (chain: EvmTestChain.Shape) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.andThen(chain.request("evm_setTime", [Math.floor(now / 1000)]), chain.mine())
  )

/** The time at which such a chain begins, in seconds since 1970. */
export const beginning = Effect.map(Clock.currentTimeMillis, (now) => Math.floor(now / 1000) - headStart)

/** A bridge that is set up, and what the audit reads of it. */
interface Crossing {
  readonly kind: TrialRoute.RouteMarket["kind"]
  readonly router: string
  /** The bridge's contract on the first chain, the second one's number, and the token there. */
  readonly bridge: Address
  readonly destination: number
  readonly asset: Address
  readonly bridges: RoutedSchemes.Bridges
  readonly attesterUrl?: string
  readonly executor: TrialExecutor.TrialExecutor
  readonly readNear: typeof CrossingFacts.readNear
  readonly readFar: typeof CrossingFacts.readFar
}

/** Chances of those who carry messages. */
type Carrying = Required<Pick<Options, "random" | "shares">>

const overLayerZero = Effect.fnUntraced(function* (
  first: EvmTestChain.Shape,
  second: EvmTestChain.Shape,
  { random, shares = TrialExecutor.usualShares }: Carrying
) {
  const chains = yield* BridgedChains.between(first, second)
  const crossing: Crossing = {
    kind: "oft",
    router: chains.router,
    bridge: chains.lockbox,
    destination: BridgedChains.eids.second,
    asset: chains.token,
    bridges: RoutedSchemes.make(chains).bridges,
    executor: yield* TrialExecutor.make(LayerZeroCarrier.make(chains), random, shares),
    readNear: CrossingFacts.readNear,
    readFar: CrossingFacts.readFar
  }
  return crossing
})

const overCctp = Effect.fnUntraced(function* (
  first: EvmTestChain.Shape,
  second: EvmTestChain.Shape,
  { random, shares = TrialExecutor.usualShares }: Carrying
) {
  const chains = yield* CctpChains.between(first, second)
  const attester = yield* LocalAttester.make(first, chains.attester)
  attester.terms.attests = false
  const carrier = CctpCarrier.make(chains, attester, random.branch("attester"))
  const crossing: Crossing = {
    kind: "cctp",
    router: chains.router,
    bridge: chains.source,
    destination: CctpChains.domains.second,
    asset: second.token.address,
    bridges: CctpChains.bridgesOf(chains),
    attesterUrl: attester.url,
    executor: yield* TrialExecutor.make(carrier, random, shares),
    readNear: CctpFacts.readNear,
    readFar: (parties, payee) => CctpFacts.readFar({ ...parties, transmitter: chains.target }, payee)
  }
  return crossing
})

/** Starts the second chain, and connects the first with it. */
export const make = Effect.fnUntraced(function* (
  first: EvmTestChain.Shape,
  { blockTime, bridge = "oft", random, shares }: Options
): Effect.fn.Return<OnwardLeg, Anvil.AnvilFailed, Scope.Scope> {
  const chainId = BridgedChains.secondChainId
  const second = yield* EvmTestChain.make({ chainId, timestamp: yield* beginning })
  const connect = bridge === "oft" ? overLayerZero : overCctp
  const crossing = yield* connect(first, second, { random: random.branch("executor"), shares })
  yield* putRight(second)
  yield* Effect.promise(() => second.client.setIntervalMining({ interval: blockTime }))
  const [signer] = second.accounts.signers
  const [near] = first.accounts.signers
  const rpc = ChainRpc.make(second.rpcUrl)
  const { attesterUrl, bridges, executor, router } = crossing
  if (!isAddress(router)) return yield* Effect.die(new Error("the router has no address"))
  const { asset, destination, kind } = crossing
  const parts = { kind, router, bridge: crossing.bridge, destination, asset }
  const market: TrialRoute.RouteMarket = { ...parts, network: second.network, feeTo: near.address }
  const firstBlock = yield* rpc.ask(ChainRpc.Quantity, "eth_blockNumber")
  return {
    second,
    rpc,
    settings: {
      routes: {
        rpcUrl: second.rpcUrl,
        signerKey: signer.privateKey,
        coinPrice: RoutedSchemes.coinPrice,
        bridges,
        feeTo: near.address,
        pushAfterSeconds: 2,
        ...(attesterUrl !== undefined && { attesterUrl })
      }
    },
    sign: (place, terms, luck) => TrialRoute.sign(place, market, terms, luck),
    account: router,
    readNear: (from) => crossing.readNear(ChainRpc.make(first.rpcUrl), first.token.address, market, from),
    readFar: (payee) => crossing.readFar({ rpc, market, signer: signer.address, firstBlock }, payee),
    hold: executor.hold,
    release: executor.release,
    isReleased: (departed) => executor.counts.attested >= departed
  }
})
