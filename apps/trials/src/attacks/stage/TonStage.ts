/**
 * A local TON chain with the facilitator as it is shipped in front of it. Only attacks on TON start it.
 */
import { type ToncenterFacade, TonTestChain } from "@pontage/ton/testing"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

import * as Direct from "../hostile/DirectSettlement.ts"
import * as HostileCall from "../hostile/HostileCall.ts"
import type { AttackStage, Tenant } from "./AttackStage.ts"
import type { StagedProcess } from "./StagedProcess.ts"

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
  const supported = yield* HostileCall.send(`${facilitator.url}/supported`, { headers: Direct.bearer(stage.victim) })
  const paymentRequirements = {
    extra: extraIn(supported),
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

const Supported = Schema.Struct({
  kinds: Schema.Array(
    Schema.Struct({
      network: Schema.String,
      extra: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
    })
  )
})
const decodeSupported = Schema.decodeUnknownSync(Schema.fromJsonString(Supported))

/** The fields beside the price in offers of this facilitator. */
const extraIn = ({ text }: HostileCall.Reply) =>
  decodeSupported(text).kinds.find(({ extra, network }) => network.startsWith("ton:") && extra !== undefined)?.extra ??
  {}
