/**
 * The scheme server of `exact` on EVM: the assets of a network, and their check at start.
 */
import { Misconfigured, type SchemeServer } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

import * as EvmCrypto from "../crypto/EvmCrypto.ts"
import * as InventoryOffers from "../inventory/InventoryOffers.ts"
import * as EvmRpc from "../node/EvmRpc.ts"
import * as ExactEvm from "../payment/ExactEvm.ts"
import * as ExactEvmReading from "../payment/ExactEvmReading.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as EvmBridges from "../route/EvmBridges.ts"
import * as RouteCall from "../route/RouteCall.ts"
import * as EvmAccountCode from "../transfer/EvmAccountCode.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as EvmTransferCall from "../transfer/EvmTransferCall.ts"
import * as PermitCall from "../transfer/PermitCall.ts"
import * as ContractPayers from "./ContractPayers.ts"
import * as EvmChainCheck from "./EvmChainCheck.ts"
import * as ExactEvmUse from "./ExactEvmUse.ts"
import * as RouteOffers from "./RouteOffers.ts"

/** Options of `exactEvm.server`. The RPC is used at start, and for requests to which the facilitator has no response. */
export interface Options {
  readonly rpcUrl: string
  /** `eip155:<chain id>`, or a name such as `base`; default the EVM network that the routes name. */
  readonly network?: string
  /** Tokens to be paid in beside the known ones. */
  readonly assets?: ReadonlyArray<EvmAsset.CustomAsset>
  /**
   * The accounts with code that may pay, as configured in the facilitator; default those that it accepts. Only the chain can
   * validate their signatures. With `none` the shop itself refuses every signature that is not the payer's own, at the cost of
   * a millisecond of its processor, and without a request to its facilitator.
   */
  readonly contractPayers?: ContractPayers.ContractPayers
  /** Bridges beside the known ones, for routes with `onward`: both ends of each. */
  readonly bridges?: ReadonlyArray<EvmBridges.CustomBridge>
}

const check = OptionCheck.options<Options>({
  rpcUrl: OptionCheck.nodeUrl(EvmNetwork.nodeExample),
  network: OptionCheck.optional(OptionCheck.text),
  assets: OptionCheck.optional(EvmAsset.check),
  contractPayers: OptionCheck.optional(OptionCheck.oneOf("known", "any", "none")),
  bridges: OptionCheck.optional(EvmBridges.check)
})

/** Makes the scheme server. Throws `Misconfigured` for an invalid network or asset. */
export const server = (options: Options): SchemeServer => {
  const {
    assets,
    bridges = [],
    contractPayers,
    network,
    rpcUrl
  } = Result.getOrThrow(OptionCheck.read(check, options, "exactEvm.server"))
  const table = Result.getOrThrow(EvmAsset.table(assets ?? []))
  const known = Result.getOrThrow(EvmBridges.table(bridges))
  const chain = network === undefined ? undefined : EvmNetwork.fromText(network)
  if (network !== undefined && chain === undefined) {
    throw new Misconfigured({ message: `exactEvm.server: network: "${network}" ${EvmNetwork.fault}` })
  }
  return {
    scheme: ExactEvm.scheme,
    network: chain,
    asset: table.find,
    assetNames: table.names,
    onward: (option) =>
      option.inventory === undefined
        ? RouteOffers.make(known, option)
        : InventoryOffers.make(table, option, option.inventory),
    extra: (asset, offered) => methodsIn(EvmAsset.methodsOf(asset, offered)),
    read: (requirements, payload) => ExactEvmReading.read(requirements.network, table.find, requirements, payload),
    inspect: Effect.fnUntraced(function* (requirements, json) {
      const { authorization, payload } = yield* ExactEvmReading.read(
        requirements.network,
        table.find,
        requirements,
        json
      )
      if (contractPayers === "none") yield* provePlain(payload)
      // Only the account's code defines the signature of its operation.
      else if (payload.operation === undefined) yield* Effect.fromResult(EvmTransferCall.signatureOf(payload.signature))
      return authorization
    }),
    useOf: Effect.fnUntraced(function* (requirements, payload, since) {
      const read = yield* ExactEvmReading.read(requirements.network, table.find, requirements, payload)
      const rpc = yield* EvmRpc.make({ url: rpcUrl, network: requirements.network })
      return yield* ExactEvmUse.find(rpc, read.payload, since)
    }),
    prove: Effect.fnUntraced(function* (provenNetwork, used) {
      const rpc = yield* EvmRpc.make({ url: rpcUrl, network: provenNetwork })
      yield* EvmChainCheck.network(rpc, provenNetwork)
      yield* Effect.forEach(used, (token) => EvmChainCheck.asset(rpc, token), { discard: true })
    })
  }
}

/**
 * The ways to pay as terms of an offer: all of them, where there is more than the usual one; and by x402's name the one that its
 * payers take, which is the authorization where it is left out.
 */
const methodsIn = (methods: ReadonlyArray<EvmAsset.Method>): Readonly<Record<string, Schema.Json>> => {
  if (methods.every((method) => method === "eip3009")) return {}
  const isByPermit2 = methods.includes("permit2") && !methods.includes("eip3009")
  return { assetTransferMethods: methods, ...(isByPermit2 && { assetTransferMethod: "permit2" }) }
}

/** Accepts only a plain account's signature, so it needs no request. */
const provePlain = Effect.fnUntraced(function* ({
  authorization,
  operation,
  permit,
  route,
  signature,
  token
}: ExactEvmReading.SignedAuthorization) {
  if (operation !== undefined) return yield* ContractPayers.notServed
  const context = { crypto: yield* EvmCrypto.EvmCrypto, accounts: EvmAccountCode.never }
  const domain = EvmAsset.domain(token)
  const routed = route && { authorization, route: route.route, signature }
  const call =
    routed !== undefined
      ? RouteCall.make(context, domain, routed, 0n)
      : permit === undefined
        ? EvmTransferCall.make(context, domain, authorization, signature)
        : PermitCall.make(context, domain, permit, signature, Effect.succeed(false))
  yield* Effect.catchTag(call, "ChainUnavailable", Effect.die)
})
