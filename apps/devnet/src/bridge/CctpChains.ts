/**
 * Two local EVM chains with CCTP between them. Circle publishes its contracts in no package, so `LocalCctp` stands in for them, and
 * `LocalAttester` for their issuer: functions, events and formats are Circle's, the gas is not.
 */
import { cctpRouterAddress, deployBridgeRouter, deployCctpRouter } from "@pontage/evm"
import { type Anvil, type EvmTestAccounts, EvmTestChain, LocalCctp } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Address, getAddress, pad } from "viem"

import * as ContractCall from "./ContractCall.ts"
import type { Bridges } from "./RoutedSchemes.ts"

/** The domains of the two chains: those of two real ones. */
export const domains = { first: 3, second: 7 } as const

/** The chains, their contracts, and the issuer's key. */
export interface CctpChains {
  readonly first: EvmTestChain.Shape
  readonly second: EvmTestChain.Shape
  /** The stand-in of each chain. */
  readonly source: Address
  readonly target: Address
  /** With its checksum. */
  readonly router: Address
  readonly attester: EvmTestAccounts.TestAccount
}

/** The balance that the second chain's stand-in makes tokens from, in the token's smallest unit. */
const supply = 1_000_000_000_000n

const link = "function link(uint32 domain, bytes32 messenger, bytes32 remoteToken)"

/** Starts both chains and deploys all of the contracts; the chains end with the scope. */
export const make: Effect.Effect<CctpChains, Anvil.AnvilFailed, Scope.Scope> = Effect.gen(function* () {
  const [first, second] = yield* Effect.all([EvmTestChain.make(), EvmTestChain.make({ chainId: 31_338 })], {
    concurrency: "unbounded"
  })
  return yield* between(first, second)
})

/** Deploys all of the contracts on two running chains, which mine a block for each transaction meanwhile. */
export const between = Effect.fnUntraced(function* (
  first: EvmTestChain.Shape,
  second: EvmTestChain.Shape
): Effect.fn.Return<CctpChains> {
  const { deployer, signers } = first.accounts
  const [, , , attester] = signers
  const source = yield* first.deploy(LocalCctp, [first.token.address, domains.first, attester.address])
  const target = yield* second.deploy(LocalCctp, [second.token.address, domains.second, attester.address])
  yield* ContractCall.write(first, source, link, [domains.second, pad(target), pad(second.token.address)])
  yield* ContractCall.write(second, target, link, [domains.first, pad(source), pad(first.token.address)])
  yield* second.mint(target, supply)
  const deployment = { signer: deployer, rpcUrl: first.rpcUrl }
  yield* Effect.orDie(deployBridgeRouter(deployment))
  yield* Effect.orDie(deployCctpRouter(deployment))
  const chains: CctpChains = { first, second, source, target, router: getAddress(cctpRouterAddress), attester }
  return chains
})

/** The two ends, as a facilitator, a shop and a payer are configured with. */
export const bridgesOf = ({ first, second, source, target }: CctpChains): Bridges => [
  {
    kind: "cctp",
    network: first.network,
    asset: first.token.address,
    bridge: source,
    endpointId: domains.first
  },
  {
    kind: "cctp",
    network: second.network,
    asset: second.token.address,
    bridge: target,
    endpointId: domains.second
  }
]
