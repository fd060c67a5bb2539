/**
 * Two local chains and a bridge between them, in one shape for both kinds: LayerZero with its verifiers and its executor, or CCTP with its
 * attester. Either carries the first chain's dollars to those of the second.
 */
import type { Anvil, EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import * as BridgedChains from "./BridgedChains.ts"
import * as CctpChains from "./CctpChains.ts"
import * as LayerZeroExecutor from "./LayerZeroExecutor.ts"
import * as LocalAttester from "./LocalAttester.ts"
import type { Bridges } from "./RoutedSchemes.ts"

/** The kinds. */
export const kinds = ["oft", "cctp"] as const

export type Kind = (typeof kinds)[number]

/** A bridge that runs. */
export interface LocalBridge {
  readonly kind: Kind
  readonly first: EvmTestChain.Shape
  readonly second: EvmTestChain.Shape
  /** Both ends, as a facilitator, a shop and a payer are configured with. */
  readonly bridges: Bridges
  /** With its checksum. */
  readonly router: string
  /** The attester over CCTP. */
  readonly attester: LocalAttester.LocalAttester | undefined
  /**
   * Sets what is done with messages that nothing was done with yet. `deliver` is the usual; `attest` leaves the delivery to others; `ignore`
   * leaves messages unattested until it changes. CCTP delivers nothing by itself.
   */
  readonly behave: (behaviour: LayerZeroExecutor.Behaviour) => Effect.Effect<void>
}

/** Starts chains and bridge; they end with the scope. */
export const make = (kind: Kind): Effect.Effect<LocalBridge, Anvil.AnvilFailed, Scope.Scope> =>
  kind === "oft" ? overLayerZero : overCctp

const overLayerZero = Effect.gen(function* () {
  const chains = yield* Effect.flatMap(BridgedChains.make, BridgedChains.withDollars)
  const { attester, away, bridges, first, home, router, second } = chains
  const { behave } = yield* LayerZeroExecutor.make(home, away, attester)
  return { kind: "oft", first, second, bridges, router, attester: undefined, behave } satisfies LocalBridge
})

const overCctp = Effect.gen(function* () {
  const chains = yield* CctpChains.make
  const { first, router, second } = chains
  const attester = yield* LocalAttester.make(first, chains.attester)
  return {
    kind: "cctp",
    first,
    second,
    bridges: CctpChains.bridgesOf(chains),
    router,
    attester,
    behave: (behaviour) => Effect.sync(() => void (attester.terms.attests = behaviour !== "ignore"))
  } satisfies LocalBridge
})
