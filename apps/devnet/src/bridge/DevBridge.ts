/**
 * The second local EVM chain beside the first one, with LayerZero between them and an executor that can be told to fail, for people who
 * try payments across chains.
 */
import { type Anvil, EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import * as BridgedChains from "./BridgedChains.ts"
import * as ExecutorControl from "./ExecutorControl.ts"
import * as LayerZeroExecutor from "./LayerZeroExecutor.ts"
import * as LayerZeroInstall from "./LayerZeroInstall.ts"
import * as RoutedSchemes from "./RoutedSchemes.ts"

/** How it is made. */
export interface Options {
  /** The TCP port of the second chain's RPC; by default one that is free. */
  readonly evmPort?: number
  /** The TCP port of the executor's switch; by default one that is free. */
  readonly executorPort?: number
}

/** The chains, the schemes on them, and the executor. */
export interface DevBridge extends BridgedChains.BridgedChains {
  readonly schemes: RoutedSchemes.RoutedSchemes
  readonly executor: LayerZeroExecutor.LayerZeroExecutor
  /** The address of the executor's switch. */
  readonly control: string
}

/** Starts it beside a chain that runs, which others may use meanwhile; it ends with the scope. */
export const make = Effect.fnUntraced(function* (
  first: EvmTestChain.Shape,
  { evmPort, executorPort = 0 }: Options = {}
): Effect.fn.Return<DevBridge, Anvil.AnvilFailed, Scope.Scope> {
  const chain = EvmTestChain.make({
    chainId: BridgedChains.secondChainId,
    ...(evmPort !== undefined && { port: evmPort })
  })
  const [second] = yield* Effect.all([chain, LayerZeroInstall.ready], { concurrency: "unbounded" })
  const chains = yield* BridgedChains.between(first, second)
  const executor = yield* LayerZeroExecutor.make(chains.home, chains.away, chains.attester)
  const control = yield* ExecutorControl.listen(executor, executorPort)
  return { ...chains, schemes: RoutedSchemes.make(chains), executor, control }
})

/** Instructions for using it, as lines of text. */
export const describe = ({
  control,
  first,
  lockbox,
  router,
  schemes,
  second,
  token
}: DevBridge): ReadonlyArray<string> => {
  const [, signer] = second.accounts.signers
  return [
    `EVM chain 2 ${second.network} at ${second.rpcUrl}, with LayerZero between it and ${first.network}`,
    `  token     ${first.token.symbol} of the first chain as ${token} (6 decimals, an OFT of its own)`,
    `  router    ${router} on the first chain; ${lockbox} is the OFT of its ${first.token.symbol}`,
    `  bridges   ${JSON.stringify(schemes.bridges)} (PONTAGE_EVM_BRIDGES)`,
    `  executor  ${control} delivers; POST /attest or /ignore there lets it fail, POST /deliver ends that`,
    `  signer    ${signer.address} key ${signer.privateKey} (coin for gas: a facilitator's deliveries)`
  ]
}
