/**
 * The second chain of a trial, with LayerZero between it and the first: what a facilitator needs to settle payments by routes, where
 * the load's routes lead, and the executor, which holds the second leg by attesting nothing.
 */
import { BridgedChains, RoutedSchemes } from "@pontage/devnet/bridge"
import { type Anvil, EvmTestChain } from "@pontage/evm/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { isAddress } from "viem"

import * as CrossingFacts from "../audit/CrossingFacts.ts"
import * as ChainRpc from "../world/ChainRpc.ts"
import type { TrialRandom } from "../world/TrialRandom.ts"
import type { OnwardLeg } from "./OnwardLeg.ts"
import * as TrialExecutor from "./TrialExecutor.ts"
import * as TrialRoute from "./TrialRoute.ts"

/** The options of the second leg. */
export interface Options {
  readonly random: TrialRandom
  /** Seconds between blocks. */
  readonly blockTime: number
  readonly shares?: TrialExecutor.Shares | undefined
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

/** Starts the second chain, and connects the first with it. */
export const make = Effect.fnUntraced(function* (
  first: EvmTestChain.Shape,
  { blockTime, random, shares = TrialExecutor.usualShares }: Options
): Effect.fn.Return<OnwardLeg, Anvil.AnvilFailed, Scope.Scope> {
  const chainId = BridgedChains.secondChainId
  const second = yield* EvmTestChain.make({ chainId, timestamp: yield* beginning })
  const chains = yield* BridgedChains.between(first, second)
  yield* putRight(second)
  yield* Effect.promise(() => second.client.setIntervalMining({ interval: blockTime }))
  const { bridges } = RoutedSchemes.make(chains)
  const [signer] = second.accounts.signers
  const [near] = first.accounts.signers
  const rpc = ChainRpc.make(second.rpcUrl)
  const { router } = chains
  if (!isAddress(router)) return yield* Effect.die(new Error("the router has no address"))
  const market: TrialRoute.RouteMarket = {
    router,
    bridge: chains.lockbox,
    destination: BridgedChains.eids.second,
    network: second.network,
    asset: chains.token,
    feeTo: near.address
  }
  const firstBlock = yield* rpc.ask(ChainRpc.Quantity, "eth_blockNumber")
  const executor = yield* TrialExecutor.make(chains, random.branch("executor"), shares)
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
        pushAfterSeconds: 2
      }
    },
    sign: (near, terms, luck) => TrialRoute.sign(near, market, terms, luck),
    account: router,
    readNear: (from) => CrossingFacts.readNear(ChainRpc.make(first.rpcUrl), first.token.address, market, from),
    readFar: (payee) => CrossingFacts.readFar({ rpc, market, signer: signer.address, firstBlock }, payee),
    hold: executor.hold,
    release: executor.release,
    isReleased: (departed) => executor.counts.attested >= departed
  }
})
