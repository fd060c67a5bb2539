/**
 * A local TON chain with the facilitator as it is shipped in front of it. Only attacks on TON start it.
 */
import { type ToncenterFacade, TonTestChain } from "@pontage/ton/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import * as Direct from "../hostile/DirectSettlement.ts"
import type * as HostileCall from "../hostile/HostileCall.ts"
import type { AttackStage, Tenant } from "./AttackStage.ts"
import type { StagedProcess } from "./StagedProcess.ts"
import * as SupportedKinds from "./SupportedKinds.ts"

/** The chain, its facilitator, and the terms of all payments of an attack. */
export interface TonStage {
  readonly chain: TonTestChain.Shape
  readonly facilitator: StagedProcess
  /** The relayer's balance, in nanotons. */
  readonly relayersBalance: Effect.Effect<bigint>
  /** Requests the settlement of a signed payment on behalf of a tenant until its end is known. */
  readonly settle: (tenant: Tenant, payload: unknown) => Effect.Effect<HostileCall.Reply>
}

/** Amount of each payment, in the Jetton's smallest unit. */
export const amount = 10_000n

const assetOf = ({ jetton, network }: TonTestChain.Shape) => ({
  network,
  address: jetton.raw,
  symbol: jetton.symbol,
  decimals: jetton.decimals
})

/** Tenants are known by their keys alone here: the file of the callers names their payees of another network. */
const keysOf = ({ mallory, victim }: AttackStage): string => JSON.stringify([victim.key, mallory.key])

/** Starts the chain and the facilitator with these settings beside its own. */
export const make = Effect.fnUntraced(function* (
  stage: AttackStage,
  options: TonTestChain.Options,
  environment: Readonly<Record<string, string>> = {}
): Effect.fn.Return<TonStage, ToncenterFacade.FacadeFailed, Scope.Scope> {
  const chain = yield* TonTestChain.make(options)
  const { accounts, jetton, network, rpcUrl } = chain
  const facilitator = yield* stage.facilitator({
    PONTAGE_EVM_RPC_URL: undefined,
    PONTAGE_EVM_SIGNER_KEY: undefined,
    PONTAGE_CALLERS_FILE: undefined,
    PONTAGE_API_KEYS: keysOf(stage),
    PONTAGE_TON_RPC_URL: rpcUrl,
    PONTAGE_TON_NETWORK: network,
    PONTAGE_TON_SIGNER_KEY: accounts.relayers[0].seed.toString("hex"),
    PONTAGE_TON_BATCH_WINDOW_MS: "20",
    PONTAGE_TON_ASSETS: JSON.stringify([assetOf(chain)]),
    ...environment
  })
  const kinds = yield* SupportedKinds.on(facilitator.url, stage.victim, network)
  const paymentRequirements = {
    extra: kinds.find(({ extra }) => extra !== undefined)?.extra ?? {},
    scheme: "exact",
    network,
    maxAmountRequired: `${amount}`,
    resource: "https://mallory.example/",
    payTo: accounts.payee.raw,
    asset: jetton.raw
  }
  return {
    chain,
    facilitator,
    relayersBalance: chain.coins(accounts.relayers[0].address),
    settle: (tenant, payload) =>
      Direct.settled(facilitator.url, tenant, {
        paymentPayload: Direct.sealed(network, payload),
        paymentRequirements
      })
  }
})
