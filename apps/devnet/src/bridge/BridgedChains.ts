/**
 * Two local EVM chains with LayerZero between them: on the first a dollar token, its lockbox and the router; on the second the token
 * that is its own OFT. `LayerZeroExecutor` carries the messages, or a test by `LayerZeroRelay`.
 */
import { bridgeRouterAddress, deployBridgeRouter } from "@pontage/evm"
import { type Anvil, type EvmTestAccounts, EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Address, pad } from "viem"

import * as ContractCall from "./ContractCall.ts"
import * as LayerZero from "./LayerZero.ts"
import * as LayerZeroInstall from "./LayerZeroInstall.ts"
import * as OftContracts from "./OftContracts.ts"

/** The endpoint ids of the two chains: those of two real ones. */
export const eids = { first: 30_110, second: 30_320 } as const

/** The chain id of the second chain; the first has that of a local chain. */
export const secondChainId = 31_338

/** The chains, their contracts, and the verifiers' key. */
export interface BridgedChains {
  readonly first: EvmTestChain.Shape
  readonly second: EvmTestChain.Shape
  readonly home: LayerZero.LayerZero
  readonly away: LayerZero.LayerZero
  /** The OFT of the first chain's token. */
  readonly lockbox: Address
  /** The token on the second chain. */
  readonly token: Address
  /** With its checksum. */
  readonly router: string
  readonly attester: EvmTestAccounts.TestAccount
}

/** Starts both chains and deploys all of the contracts; the chains end with the scope. */
export const make: Effect.Effect<BridgedChains, Anvil.AnvilFailed, Scope.Scope> = Effect.gen(function* () {
  const [first, second] = yield* Effect.all(
    [EvmTestChain.make(), EvmTestChain.make({ chainId: secondChainId }), LayerZeroInstall.ready],
    { concurrency: "unbounded" }
  )
  return yield* between(first, second)
})

/** Deploys all of the contracts on two running chains, which mine a block for each transaction meanwhile. */
export const between = Effect.fnUntraced(function* (
  first: EvmTestChain.Shape,
  second: EvmTestChain.Shape
): Effect.fn.Return<BridgedChains> {
  yield* LayerZeroInstall.ready
  const { deployer, signers } = first.accounts
  const [, , , attester] = signers
  const options = { attester: attester.address }
  const [home, away] = yield* Effect.all(
    [
      LayerZero.make(first, { ...options, eid: eids.first, remote: eids.second }),
      LayerZero.make(second, { ...options, eid: eids.second, remote: eids.first })
    ],
    { concurrency: "unbounded" }
  )
  const code = OftContracts.read()
  const owner = deployer.address
  const ofLockbox = "constructor(address token, address endpoint, address owner)"
  const lockbox = yield* ContractCall.deploy(first, code.lockbox, ofLockbox, [
    first.token.address,
    home.endpoint,
    owner
  ])
  const ofToken = "constructor(address endpoint, address owner)"
  const token = yield* ContractCall.deploy(second, code.token, ofToken, [away.endpoint, owner])
  const setPeer = "function setPeer(uint32 eid, bytes32 peer)"
  yield* ContractCall.write(first, lockbox, setPeer, [eids.second, pad(token)])
  yield* ContractCall.write(second, token, setPeer, [eids.first, pad(lockbox)])
  yield* Effect.orDie(deployBridgeRouter({ signer: deployer, rpcUrl: first.rpcUrl }))
  const chains: BridgedChains = { first, second, home, away, lockbox, token, router: bridgeRouterAddress, attester }
  return chains
})

/** Dollars that the lockbox of the second chain can pay out, in the smallest unit. */
const stock = 1_000_000_000_000n

/**
 * Puts the second chain's dollars behind the bridge, in the place of the plain OFT: unlike that one, they can be paid by transfer
 * authorizations. `token` is the dollar then, and both ends of the bridge are given.
 */
export const withDollars = Effect.fnUntraced(function* (chains: BridgedChains) {
  const { away, first, lockbox, second } = chains
  const { address } = second.token
  const ofLockbox = "constructor(address token, address endpoint, address owner)"
  const far = yield* ContractCall.deploy(second, OftContracts.read().lockbox, ofLockbox, [
    address,
    away.endpoint,
    second.accounts.deployer.address
  ])
  const setPeer = "function setPeer(uint32 eid, bytes32 peer)"
  yield* ContractCall.write(first, lockbox, setPeer, [eids.second, pad(far)])
  yield* ContractCall.write(second, far, setPeer, [eids.first, pad(lockbox)])
  yield* second.mint(far, stock)
  const bridges = [
    { network: first.network, asset: first.token.address, bridge: lockbox, endpointId: eids.first as number },
    { network: second.network, asset: address, bridge: far, endpointId: eids.second as number }
  ]
  return { ...chains, token: address, bridges }
})
