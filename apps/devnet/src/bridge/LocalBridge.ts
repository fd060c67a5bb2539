/**
 * Two local chains and a bridge between them, in one shape for both kinds: LayerZero with its verifiers and its executor, or CCTP with its
 * attester. Either carries the first chain's dollars to those of the second.
 */
import { type Anvil, EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Address, getAddress } from "viem"

import * as BridgedChains from "./BridgedChains.ts"
import * as CctpChains from "./CctpChains.ts"
import * as LayerZeroExecutor from "./LayerZeroExecutor.ts"
import * as LocalAttester from "./LocalAttester.ts"
import * as RoutedSchemes from "./RoutedSchemes.ts"

/** The kinds. */
export const kinds = ["oft", "cctp"] as const

export type Kind = (typeof kinds)[number]

/** A bridge that runs. */
export interface LocalBridge {
  readonly kind: Kind
  readonly first: EvmTestChain.Shape
  readonly second: EvmTestChain.Shape
  /** Both ends, as a facilitator, a shop and a payer are configured with. */
  readonly bridges: RoutedSchemes.Bridges
  /** With its checksum. */
  readonly router: Address
  /** The attester over CCTP. */
  readonly attester: LocalAttester.LocalAttester | undefined
  /**
   * Sets what is done with messages that nothing was done with yet. `deliver` is the usual; `attest` leaves the delivery to others; `ignore`
   * leaves messages unattested until it changes. CCTP delivers nothing by itself.
   */
  readonly behave: (behaviour: LayerZeroExecutor.Behaviour) => Effect.Effect<void>
}

/** Starts chains and bridge; they end with the scope. */
export const make = Effect.fnUntraced(function* (
  kind: Kind
): Effect.fn.Return<LocalBridge, Anvil.AnvilFailed, Scope.Scope> {
  const chains = [EvmTestChain.make(), EvmTestChain.make({ chainId: BridgedChains.secondChainId })] as const
  const [first, second] = yield* Effect.all(chains, { concurrency: "unbounded" })
  return yield* kind === "oft" ? overLayerZero(first, second) : overCctp(first, second)
})

/** The schemes on it: of a facilitator on both chains, of a shop, and of a payer. */
export const schemesOf = (bridge: LocalBridge, settings: RoutedSchemes.Settings = {}): RoutedSchemes.RoutedSchemes =>
  RoutedSchemes.between(bridge, {
    bridges: bridge.bridges,
    ...(bridge.attester && { attesterUrl: bridge.attester.url }),
    ...settings
  })

const overLayerZero = Effect.fnUntraced(function* (one: EvmTestChain.Shape, other: EvmTestChain.Shape) {
  const chains = yield* Effect.flatMap(BridgedChains.between(one, other), BridgedChains.withDollars)
  const { attester, away, bridges, first, home, router, second } = chains
  const { behave } = yield* LayerZeroExecutor.make(home, away, attester)
  const parts = { first, second, bridges, router: getAddress(router), attester: undefined, behave }
  return { kind: "oft", ...parts } satisfies LocalBridge
})

const overCctp = Effect.fnUntraced(function* (one: EvmTestChain.Shape, other: EvmTestChain.Shape) {
  const chains = yield* CctpChains.between(one, other)
  const { first, router, second } = chains
  const attester = yield* LocalAttester.make(first, chains.attester)
  return {
    kind: "cctp",
    first,
    second,
    bridges: CctpChains.bridgesOf(chains),
    router,
    attester,
    behave: (behaviour) => attester.behave(behaviour === "ignore" ? "withhold" : "attest")
  } satisfies LocalBridge
})
