/**
 * Smart accounts (SimpleAccount of EntryPoint 0.8) of a trial's payers, deployed and with money: they pay by user operations beside
 * the authorizations of plain accounts, which have approved Permit2 and pay by it too. All share the facilitator's transactions.
 */
import {
  deployBatchSettler,
  deployCounterfactualSettler,
  deployOpSettler,
  deployPaymentGuard,
  deployPermitSettler
} from "@pontage/evm"
import { type EvmTestChain, Permit2Contracts, SmartAccountContracts, SmartAccounts } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import type { SmartAccount } from "viem/account-abstraction"

/** The accounts, and the contracts with which their payments are settled. */
export interface TrialAccounts {
  readonly accounts: ReadonlyArray<SmartAccount>
  readonly settling: {
    readonly batchSettler: string
    readonly operationSettler: string
    readonly permitSettler: string
    readonly counterfactualSettler: string
  }
}

/** Accounts of so few payers deploy in a moment, and meet each other often enough. */
const most = 6
/** The factory takes calls of this contract alone, by which EntryPoint 0.8 makes accounts. */
const senderCreator = "0x449ED7C3e6Fee6a97311d4b55475DF59C44AdD33"

/** Deploys the contracts and the accounts; each transaction has its block at once meanwhile. */
export const make = Effect.fnUntraced(function* (
  chain: EvmTestChain.Shape,
  balance: bigint
): Effect.fn.Return<TrialAccounts> {
  yield* SmartAccountContracts.deploy(chain)
  const deployment = { signer: chain.accounts.deployer, rpcUrl: chain.rpcUrl }
  const settling = yield* Effect.orDie(
    Effect.all({
      batchSettler: deployBatchSettler(deployment),
      operationSettler: deployOpSettler(deployment),
      permitSettler: deployPermitSettler(deployment),
      counterfactualSettler: deployCounterfactualSettler(deployment)
    })
  )
  yield* Effect.orDie(deployPaymentGuard(deployment))
  yield* Permit2Contracts.deploy(chain)
  for (const { address } of chain.accounts.payers) yield* Permit2Contracts.approve(chain, address)
  yield* chain.request("anvil_setBalance", [senderCreator, "0xde0b6b3a7640000"])
  yield* chain.request("anvil_impersonateAccount", [senderCreator])
  const accounts = yield* Effect.forEach(chain.accounts.payers.slice(0, most), (owner) =>
    Effect.gen(function* () {
      const made = yield* Effect.promise(() => SmartAccounts.simple(chain, owner, "0.8"))
      const { factory, factoryData = "0x" } = yield* Effect.promise(() => made.getFactoryArgs())
      if (factory !== undefined)
        yield* chain.send({ from: senderCreator, to: factory, data: factoryData, gas: 1_000_000n })
      yield* chain.mint(made.address, balance)
      return made
    })
  )
  return { accounts, settling }
})
