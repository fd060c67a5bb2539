/**
 * The second local EVM chain beside the first one, with LayerZero or CCTP between them, and an executor or an attester that can be told to
 * fail, for people who try payments across chains.
 */
import { type Anvil, EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Address } from "viem"

import * as BridgeControl from "./BridgeControl.ts"
import * as BridgedChains from "./BridgedChains.ts"
import * as CctpChains from "./CctpChains.ts"
import * as LayerZeroExecutor from "./LayerZeroExecutor.ts"
import * as LayerZeroInstall from "./LayerZeroInstall.ts"
import * as LocalAttester from "./LocalAttester.ts"
import type { Kind } from "./LocalBridge.ts"
import * as RoutedSchemes from "./RoutedSchemes.ts"

/** How it is made. */
export interface Options {
  /** The bridge; default an OFT of LayerZero. */
  readonly kind?: Kind
  /** The TCP port of the second chain's RPC; by default one that is free. */
  readonly evmPort?: number
  /** The TCP port of the switch of executor or attester; by default one that is free. */
  readonly executorPort?: number
}

/** The chains, and the schemes on them. */
export interface DevBridge {
  readonly first: EvmTestChain.Shape
  readonly second: EvmTestChain.Shape
  /** The first chain's contract that payments go through, with its checksum. */
  readonly router: string
  /** The token on the second chain. */
  readonly token: Address
  readonly schemes: RoutedSchemes.RoutedSchemes
  /** The address of the switch. */
  readonly control: string
  /** The bridge's own parts, as lines of text. */
  readonly parts: ReadonlyArray<string>
}

/** Starts it beside a chain that runs, which others may use meanwhile; it ends with the scope. */
export const make = Effect.fnUntraced(function* (
  first: EvmTestChain.Shape,
  { evmPort, executorPort = 0, kind = "oft" }: Options = {}
): Effect.fn.Return<DevBridge, Anvil.AnvilFailed, Scope.Scope> {
  const chain = EvmTestChain.make({
    chainId: BridgedChains.secondChainId,
    ...(evmPort !== undefined && { port: evmPort })
  })
  const ready = kind === "oft" ? LayerZeroInstall.ready : Effect.void
  const [second] = yield* Effect.all([chain, ready], { concurrency: "unbounded" })
  return yield* kind === "oft" ? overLayerZero(first, second, executorPort) : overCctp(first, second, executorPort)
})

const overLayerZero = Effect.fnUntraced(function* (
  one: EvmTestChain.Shape,
  other: EvmTestChain.Shape,
  port: number
): Effect.fn.Return<DevBridge, never, Scope.Scope> {
  const chains = yield* BridgedChains.between(one, other)
  const { attester, away, first, home, lockbox, router, second, token } = chains
  const { behave } = yield* LayerZeroExecutor.make(home, away, attester)
  const control = yield* BridgeControl.listen({ behaviours: LayerZeroExecutor.behaviours, behave }, port)
  const parts = [
    `EVM chain 2 ${second.network} at ${second.rpcUrl}, with LayerZero between it and ${first.network}`,
    `  token     ${first.token.symbol} of the first chain as ${token} (6 decimals, an OFT of its own)`,
    `  router    ${router} on the first chain; ${lockbox} is the OFT of its ${first.token.symbol}`,
    `  executor  ${control} delivers; POST /attest or /ignore there lets it fail, POST /deliver ends that`
  ]
  return { first, second, router, token, schemes: RoutedSchemes.make(chains), control, parts }
})

const overCctp = Effect.fnUntraced(function* (
  one: EvmTestChain.Shape,
  other: EvmTestChain.Shape,
  port: number
): Effect.fn.Return<DevBridge, never, Scope.Scope> {
  const chains = yield* CctpChains.between(one, other)
  const { first, router, second, source, target } = chains
  const { behave, url } = yield* LocalAttester.make(first, chains.attester)
  const control = yield* BridgeControl.listen({ behaviours: LocalAttester.behaviours, behave }, port)
  const parts = [
    `EVM chain 2 ${second.network} at ${second.rpcUrl}, with CCTP between it and ${first.network}`,
    `  token     ${second.token.symbol} ${second.token.address} (6 decimals, EIP-3009)`,
    `  router    ${router} on the first chain; CCTP is ${source} there, and ${target} on the second (stand-ins for Circle's contracts)`,
    `  attester  ${url} attests (PONTAGE_EVM_CCTP_ATTESTER_URL)`,
    `            POST /withhold, /fail, /forge or /repeat at ${control} lets it fail, POST /attest there ends that`
  ]
  const bridges = CctpChains.bridgesOf(chains)
  const schemes = RoutedSchemes.between(chains, { bridges, attesterUrl: url })
  return { first, second, router, token: second.token.address, schemes, control, parts }
})

/** Instructions for using it, as lines of text. */
export const describe = ({ parts, schemes, second }: DevBridge): ReadonlyArray<string> => {
  const [, signer] = second.accounts.signers
  return [
    ...parts,
    `  bridges   ${JSON.stringify(schemes.bridges)} (PONTAGE_EVM_BRIDGES)`,
    `  signer    ${signer.address} key ${signer.privateKey} (coin for gas: a facilitator's deliveries)`
  ]
}
