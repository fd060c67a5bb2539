/**
 * A local TRON chain with the facilitator as it is shipped in front of it. Only attacks on TRON start it.
 */
import { TronAddress } from "@pontage/tron"
import { type NodeTransaction, type TronDevNodeFailed, TronTestAccounts, TronTestChain } from "@pontage/tron/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import * as Direct from "../hostile/DirectSettlement.ts"
import type * as HostileCall from "../hostile/HostileCall.ts"
import type { AttackStage, Tenant } from "./AttackStage.ts"
import type { StagedProcess } from "./StagedProcess.ts"
import * as SupportedKinds from "./SupportedKinds.ts"

/** A signed transfer. */
export interface Transfer {
  /** The transaction's id. */
  readonly id: string
  readonly payload: unknown
}

/** The chain and its facilitator. */
export interface TronStage {
  readonly chain: TronTestChain.Shape
  readonly facilitator: StagedProcess
  /** A new payer with tokens for a hundred payments and `sun` sun. */
  readonly payer: (name: string, sun: bigint) => Effect.Effect<TronTestAccounts.TestAccount>
  /** A payment to the payee. */
  readonly sign: (payer: TronTestAccounts.TestAccount) => Effect.Effect<Transfer>
  /** Asks on behalf of a tenant for the settlement, once. */
  readonly settle: (tenant: Tenant, transfer: Transfer) => Effect.Effect<HostileCall.Reply>
}

/** Amount of each payment, in the token's smallest unit. */
export const amount = 10_000n

const feeLimit = 30_000_000n

/** Starts the chain and the facilitator with these settings beside its own. */
export const make = Effect.fnUntraced(function* (
  stage: AttackStage,
  prepare: (chain: TronTestChain.Shape) => Effect.Effect<Readonly<Record<string, string>>>
): Effect.fn.Return<TronStage, TronDevNodeFailed, Scope.Scope> {
  const chain = yield* TronTestChain.make({ payers: 1 })
  const { accounts, network, rpcUrl, token } = chain
  const facilitator = yield* stage.facilitator({
    PONTAGE_EVM_RPC_URL: undefined,
    PONTAGE_EVM_SIGNER_KEY: undefined,
    PONTAGE_CALLERS_FILE: undefined,
    PONTAGE_API_KEYS: JSON.stringify([stage.victim.key, stage.mallory.key]),
    PONTAGE_TRON_RPC_URL: rpcUrl,
    PONTAGE_TRON_NETWORK: network,
    PONTAGE_TRON_ASSETS: JSON.stringify([
      { network, address: token.address, symbol: token.symbol, decimals: token.decimals }
    ]),
    ...(yield* prepare(chain))
  })
  yield* SupportedKinds.on(facilitator.url, stage.victim, network)
  const paymentRequirements = {
    scheme: "exact",
    network,
    maxAmountRequired: `${amount}`,
    resource: "https://mallory.example/",
    payTo: accounts.payee.address,
    asset: token.address
  }
  return {
    chain,
    facilitator,
    payer: Effect.fnUntraced(function* (name, sun) {
      const payer = TronTestAccounts.named(name)
      yield* chain.mint(payer.address, 100n * amount)
      yield* chain.fund(payer.address, sun)
      return payer
    }),
    sign: (payer) =>
      Effect.map(chain.sign(transferTo(token.address, accounts.payee.address, amount), payer), (transaction) => ({
        id: transaction.id,
        payload: payloadOf(payer, transaction)
      })),
    settle: (tenant, { payload }) =>
      Direct.settle(facilitator.url, tenant, {
        paymentPayload: Direct.sealed(network, payload),
        paymentRequirements
      })
  }
})

const payloadOf = (payer: TronTestAccounts.TestAccount, transaction: NodeTransaction.NodeTransaction) => ({
  from: payer.address,
  signedTransaction: {
    txID: transaction.id,
    raw_data_hex: transaction.rawHex,
    signature: transaction.signatures
  }
})

/** Of `transfer(address,uint256)`. */
const transferSelector = "a9059cbb"

const wordOf = (address: string): string => (TronAddress.fromText(address) ?? "").slice(2).padStart(64, "0")

/** A transfer of a token, as the chain's own accounts sign it. */
export const transferTo = (token: string, to: string, value: bigint) => ({
  contract: "TriggerSmartContract" as const,
  fields: { contract_address: token, data: `${transferSelector}${wordOf(to)}${value.toString(16).padStart(64, "0")}` },
  feeLimit
})
