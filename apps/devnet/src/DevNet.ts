/**
 * The local chains in one place: real nodes on this machine, each with a dollar token and funded accounts, so that the
 * whole flow can be run without an account anywhere.
 */
import {
  ChannelContract,
  deployBatchSettler,
  deployCounterfactualSettler,
  deployOpSettler,
  deployPaymentGuard,
  deployPermitSettler
} from "@pontage/evm"
import {
  type Anvil,
  ChannelContracts,
  EvmTestChain,
  Permit2Contracts,
  PlainToken,
  SmartAccountContracts,
  SmartAccounts
} from "@pontage/evm/testing"
import { type ToncenterFacade, TonTestChain } from "@pontage/ton/testing"
import { type TronDevNodeFailed, TronTestChain } from "@pontage/tron/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Address, encodeFunctionData } from "viem"

/** How the chains are made. */
export interface Options {
  /** The TCP port of the EVM chain's RPC; by default one that is free. */
  readonly evmPort?: number
  /** The TCP port of the TON chain's HTTP API; by default one that is free. */
  readonly tonPort?: number
  /** The TCP port of the TRON node's HTTP API; by default one that is free. */
  readonly tronPort?: number
  /** Seconds between blocks; by default each transaction gets a block at once. */
  readonly blockTime?: number
}

/** The contracts of smart accounts on the EVM chain, beside those at their published addresses (`SmartAccountContracts`). */
export interface EvmSmartAccounts {
  /** The contract by which accounts that are not deployed yet pay. */
  readonly counterfactualSettler: string
  /** The contract by which user operations share a transaction. */
  readonly operationSettler: string
  /** The contract that ends the validity of user operations. */
  readonly paymentGuard: string
  /** The contract by which payments by Permit2 share a transaction. */
  readonly permitSettler: string
  /** A token without transfer authorizations. */
  readonly plainToken: Address
  /** A Safe of the first payer's key that is not deployed yet; it has money in both tokens. */
  readonly safe: Address
}

/** The chains that run. */
export interface DevNet {
  readonly evm: EvmTestChain.Shape
  /** The contract by which a facilitator settles several payments in one transaction on the EVM chain. */
  readonly evmBatchSettler: string
  readonly evmSmartAccounts: EvmSmartAccounts
  readonly ton: TonTestChain.Shape
  readonly tron: TronTestChain.Shape
}

/** Why a chain cannot be started. */
export type DevNetFailed = Anvil.AnvilFailed | ToncenterFacade.FacadeFailed | TronDevNodeFailed

const startEvm = Effect.fnUntraced(function* ({ blockTime, evmPort }: Options) {
  const evm = yield* EvmTestChain.make(evmPort === undefined ? {} : { port: evmPort })
  const deployment = { signer: evm.accounts.deployer, rpcUrl: evm.rpcUrl }
  const evmBatchSettler = yield* Effect.orDie(deployBatchSettler(deployment))
  const evmSmartAccounts = yield* startSmartAccounts(evm)
  yield* ChannelContracts.deploy(evm)
  // From here on: until now each of the many deployments had its block at once.
  if (blockTime !== undefined) yield* Effect.promise(() => evm.client.setIntervalMining({ interval: blockTime }))
  return { evm, evmBatchSettler, evmSmartAccounts }
})

/** The balance of the payer's Safe in each token, and of the payer in the second one: 1,000 dollars. */
const balance = 1_000_000_000n

const startSmartAccounts = Effect.fnUntraced(function* (evm: EvmTestChain.Shape): Effect.fn.Return<EvmSmartAccounts> {
  yield* SmartAccountContracts.deploy(evm)
  const deployment = { signer: evm.accounts.deployer, rpcUrl: evm.rpcUrl }
  const counterfactualSettler = yield* Effect.orDie(deployCounterfactualSettler(deployment))
  const operationSettler = yield* Effect.orDie(deployOpSettler(deployment))
  const paymentGuard = yield* Effect.orDie(deployPaymentGuard(deployment))
  const permitSettler = yield* Effect.orDie(deployPermitSettler(deployment))
  const plainToken = yield* evm.deploy(PlainToken)
  const { address: safe } = yield* Effect.promise(() => SmartAccounts.safe(evm, evm.accounts.payers[0]))
  const payer = evm.accounts.payers[0].address
  yield* evm.mint(safe, balance)
  for (const owner of [safe, payer]) {
    const args = [owner, balance] as const
    yield* evm.send({ to: plainToken, data: encodeFunctionData({ abi: PlainToken.abi, functionName: "mint", args }) })
  }
  yield* Permit2Contracts.deploy(evm)
  yield* Permit2Contracts.approve(evm, payer, plainToken)
  return { counterfactualSettler, operationSettler, paymentGuard, permitSettler, plainToken, safe }
})

const startTon = ({ blockTime, tonPort }: Options) =>
  TonTestChain.make({
    ...(tonPort !== undefined && { port: tonPort }),
    ...(blockTime !== undefined && { blocks: { everyMillis: blockTime * 1000 } })
  })

const startTron = ({ blockTime, tronPort }: Options) =>
  TronTestChain.make({
    ...(tronPort !== undefined && { port: tronPort }),
    ...(blockTime !== undefined && { mining: { everyMillis: blockTime * 1000 } })
  })

/** Starts the chains; they end with the scope. */
export const make = Effect.fnUntraced(function* (
  options: Options = {}
): Effect.fn.Return<DevNet, DevNetFailed, Scope.Scope> {
  const starting = { evm: startEvm(options), ton: startTon(options), tron: startTron(options) }
  const { evm, ton, tron } = yield* Effect.all(starting, { concurrency: "unbounded" })
  return { ...evm, ton, tron }
})

const describeEvm = ({ evm, evmBatchSettler, evmSmartAccounts }: DevNet): ReadonlyArray<string> => {
  const { accounts, network, rpcUrl, token } = evm
  const [signer] = accounts.signers
  const [payer] = accounts.payers
  const { counterfactualSettler, operationSettler, paymentGuard, permitSettler, plainToken, safe } = evmSmartAccounts
  const { entryPoint07, entryPoint08, safeFactory, simple7702, simpleFactory07, simpleFactory08 } =
    SmartAccountContracts.published
  const { exactProxy, permit2 } = Permit2Contracts.published
  return [
    `EVM chain   ${network} at ${rpcUrl}`,
    `  token     ${token.symbol} ${token.address} (${token.decimals} decimals, EIP-3009)`,
    `  token     PUSD ${plainToken} (6 decimals, without EIP-3009: by Permit2 and user operations)`,
    `  Permit2   ${permit2}, its proxy ${exactProxy}; the payer has approved it in PUSD`,
    `  channels  ${ChannelContract.address} (payment channels; a contract for tests at the published address)`,
    `  batches   ${evmBatchSettler} (the batch settler), ${operationSettler} (the operation settler),`,
    `            ${permitSettler} (the permit settler)`,
    `  accounts  EntryPoint 0.7 ${entryPoint07} and 0.8 ${entryPoint08}; Simple7702Account ${simple7702}`,
    `  accounts  SimpleAccount's factories 0.7 ${simpleFactory07} and 0.8 ${simpleFactory08}, Safe's ${safeFactory}`,
    `  accounts  ${counterfactualSettler} (the counterfactual settler), ${paymentGuard} (the payment guard)`,
    `  safe      ${safe} of the payer's key (not deployed yet, 1,000 ${token.symbol} and 1,000 PUSD: a buyer)`,
    `  signer    ${signer.address} key ${signer.privateKey} (coin for gas: a facilitator)`,
    `  payer     ${payer.address} key ${payer.privateKey} (1,000 ${token.symbol}, 1,000 PUSD and no coin: a buyer)`,
    `  payee     ${accounts.payee.address} (nothing yet: a seller)`
  ]
}

const describeTon = ({ ton }: DevNet): ReadonlyArray<string> => {
  const { accounts, globalId, governed, jetton, network, rpcUrl } = ton
  const [relayer] = accounts.relayers
  const [payer] = accounts.payers
  const key = ({ seed }: typeof relayer) => seed.toString("hex")
  return [
    `TON chain   ${network} (global id ${globalId}) at ${rpcUrl}`,
    `  jetton    ${jetton.symbol} ${jetton.raw} (${jetton.decimals} decimals, TEP-74)`,
    `  jetton    ${governed.symbol} ${governed.raw} (${governed.decimals} decimals, its issuer can lock wallets)`,
    `  relayer   ${relayer.raw} key ${key(relayer)} (W5 with TON: a facilitator)`,
    `  payer     ${payer.raw} key ${key(payer)} (W5 with 1,000 ${jetton.symbol} and no TON: a buyer)`,
    `  payee     ${accounts.payee.raw} (nothing yet: a seller)`
  ]
}

const describeTron = ({ tron }: DevNet): ReadonlyArray<string> => {
  const { accounts, network, rpcUrl, token } = tron
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

/** Instructions for using the chains, as lines of text. */
export const describe = (chains: DevNet): ReadonlyArray<string> => [
  ...describeEvm(chains),
  ...describeTon(chains),
  ...describeTron(chains)
]
