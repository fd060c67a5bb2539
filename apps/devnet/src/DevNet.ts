/**
 * The local chains in one place: real nodes on this machine, each with a dollar token and funded accounts, so that the
 * whole flow can be run without an account anywhere.
 */
import { type Anvil, EvmTestChain } from "@pontage/evm/testing"
import { type TronDevNodeFailed, TronTestChain } from "@pontage/tron/testing"
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
  /** The TCP port of the TRON node's HTTP API; by default one that is free. */
  readonly tronPort?: number
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
  readonly tron: TronTestChain.Shape
}

/**
 * Starts the chains; they end with the scope.
 *
 * @category constructors
 */
export const make = Effect.fnUntraced(function* ({ blockTime, evmPort, tronPort }: Options = {}): Effect.fn.Return<
  DevNet,
  Anvil.AnvilFailed | TronDevNodeFailed,
  Scope.Scope
> {
  const evm = EvmTestChain.make({
    ...(evmPort !== undefined && { port: evmPort }),
    ...(blockTime !== undefined && { blockTime })
  })
  const tron = TronTestChain.make({
    ...(tronPort !== undefined && { port: tronPort }),
    ...(blockTime !== undefined && { mining: { everyMillis: blockTime * 1000 } })
  })
  return yield* Effect.all({ evm, tron }, { concurrency: "unbounded" })
})

/**
 * What a person needs to use the chains, as lines of text.
 *
 * @category conversions
 */
export const describe = ({ evm, tron }: DevNet): ReadonlyArray<string> => [...describeEvm(evm), ...describeTron(tron)]

const describeEvm = ({ accounts, network, rpcUrl, token }: EvmTestChain.Shape): ReadonlyArray<string> => {
  const [signer] = accounts.signers
  const [payer] = accounts.payers
  return [
    `EVM chain   ${network} at ${rpcUrl}`,
    `  token     ${token.symbol} ${token.address} (${token.decimals} decimals, EIP-3009)`,
    `  signer    ${signer.address} key ${signer.privateKey} (coin for gas: a facilitator)`,
    `  payer     ${payer.address} key ${payer.privateKey} (1,000 ${token.symbol} and no coin: a buyer)`,
    `  payee     ${accounts.payee.address} (nothing yet: a seller)`
  ]
}

const describeTron = ({ accounts, network, rpcUrl, token }: TronTestChain.Shape): ReadonlyArray<string> => {
  const [signer] = accounts.signers
  const [payer] = accounts.payers
  return [
    `TRON chain  ${network} at ${rpcUrl}`,
    `  token     ${token.symbol} ${token.address} (${token.decimals} decimals, TRC-20)`,
    `  signer    ${signer.address} key ${signer.privateKey} (TRX to stake: a facilitator that sponsors energy)`,
    `  payer     ${payer.address} key ${payer.privateKey} (1,000 ${token.symbol} and 1,000 TRX for fees: a buyer)`,
    `  payee     ${accounts.payee.address} (nothing yet: a seller)`
  ]
}
