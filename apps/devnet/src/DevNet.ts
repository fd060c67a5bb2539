/**
 * The local chains in one place: real nodes on this machine, each with a dollar token and funded accounts, so that the
 * whole flow can be run without an account anywhere.
 */
import { deployBatchSettler } from "@pontage/evm"
import { type Anvil, EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/**
 * How the chains are made.
 *
 * @category models
 */
export interface Options {
  /** The TCP port of the EVM chain's RPC; by default one that is free. */
  readonly evmPort?: number
  /** Seconds between blocks; by default each transaction gets a block at once. */
  readonly blockTime?: number
}

/**
 * The chains that run.
 *
 * @category models
 */
export interface DevNet {
  readonly evm: EvmTestChain.Shape
  /** The contract by which a facilitator settles several payments in one transaction on the EVM chain. */
  readonly evmBatchSettler: string
}

/**
 * Starts the chains; they end with the scope.
 *
 * @category constructors
 */
export const make = Effect.fnUntraced(function* ({ blockTime, evmPort }: Options = {}): Effect.fn.Return<
  DevNet,
  Anvil.AnvilFailed,
  Scope.Scope
> {
  const evm = yield* EvmTestChain.make({
    ...(evmPort !== undefined && { port: evmPort }),
    ...(blockTime !== undefined && { blockTime })
  })
  const deployment = { signer: evm.accounts.deployer, rpcUrl: evm.rpcUrl }
  const evmBatchSettler = yield* Effect.orDie(deployBatchSettler(deployment))
  return { evm, evmBatchSettler }
})

/**
 * What a person needs to use the chains, as lines of text.
 *
 * @category conversions
 */
export const describe = ({ evm, evmBatchSettler }: DevNet): ReadonlyArray<string> => {
  const { accounts, network, rpcUrl, token } = evm
  const [signer] = accounts.signers
  const [payer] = accounts.payers
  return [
    `EVM chain   ${network} at ${rpcUrl}`,
    `  token     ${token.symbol} ${token.address} (${token.decimals} decimals, EIP-3009)`,
    `  batches   ${evmBatchSettler} (the batch settler)`,
    `  signer    ${signer.address} key ${signer.privateKey} (coin for gas: a facilitator)`,
    `  payer     ${payer.address} key ${payer.privateKey} (1,000 ${token.symbol} and no coin: a buyer)`,
    `  payee     ${accounts.payee.address} (nothing yet: a seller)`
  ]
}
