/**
 * The scheme server of `exact` on TON: the assets of a network, and their proof at start.
 */
import { Misconfigured, type SchemeServer } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as TonChainCheck from "../node/TonChainCheck.ts"
import * as TonRpc from "../node/TonRpc.ts"
import * as ExactTon from "../payment/ExactTon.ts"
import * as TonNetwork from "../primitives/TonNetwork.ts"
import * as TonAsset from "../transfer/TonAsset.ts"
import * as ExactTonInspection from "./ExactTonInspection.ts"

/** Options of `exactTon.server`. The node is used at start only, never for a request. */
export interface Options {
  /** toncenter's API v2, its JSON-RPC address. */
  readonly rpcUrl: string
  readonly apiKey?: string
  /** Default `ton:mainnet`. */
  readonly network?: string
  /** Jettons to accept beyond the known ones. */
  readonly assets?: ReadonlyArray<TonAsset.CustomAsset>
}

const check = OptionCheck.options<Options>({
  rpcUrl: OptionCheck.nodeUrl("https://toncenter.com/api/v2/jsonRPC"),
  apiKey: OptionCheck.optional(OptionCheck.text),
  network: OptionCheck.optional(OptionCheck.text),
  assets: OptionCheck.optional(TonAsset.check)
})

/**
 * The scheme server. The facilitator itself supplies its demands on an offer (the account that receives the unused TON). Throws
 * `Misconfigured` for an invalid network or asset.
 */
export const server = (options: Options): SchemeServer => {
  const checked = Result.getOrThrow(OptionCheck.read(check, options, "exactTon.server"))
  const { apiKey, assets, network: text = TonNetwork.mainnet, rpcUrl } = checked
  const table = Result.getOrThrow(TonAsset.table(assets ?? []))
  const network = TonNetwork.fromText(text)
  if (network === undefined)
    throw new Misconfigured({ message: `exactTon.server: network "${text}" is not a TON network` })
  return {
    scheme: ExactTon.scheme,
    network,
    asset: table.find,
    assetNames: table.names,
    inspect: (requirements, json) => ExactTonInspection.inspect(network, table, requirements, json),
    prove: Effect.fnUntraced(function* (provenNetwork, used) {
      const rpc = yield* TonRpc.make({ url: rpcUrl, network: provenNetwork, ...(apiKey !== undefined && { apiKey }) })
      yield* TonChainCheck.network(rpc, provenNetwork)
      yield* Effect.forEach(used, (token) => TonChainCheck.asset(rpc, token), { discard: true })
    })
  }
}
