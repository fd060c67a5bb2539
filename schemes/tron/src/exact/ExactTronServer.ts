/** The scheme server of `exact` on TRON: the assets of a network, and their proof at start. */
import { Misconfigured, type SchemeServer } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as TronChainCheck from "../node/TronChainCheck.ts"
import * as TronRpc from "../node/TronRpc.ts"
import * as ExactTron from "../payment/ExactTron.ts"
import * as ExactTronReading from "../payment/ExactTronReading.ts"
import * as TronNetwork from "../primitives/TronNetwork.ts"
import * as TronAsset from "../transfer/TronAsset.ts"
import * as ExactTronVerification from "./ExactTronVerification.ts"

/** Options of the scheme server. The node is used at start only, never during a payment. */
export interface Options {
  /** URL of a full node, the part before `/wallet`. */
  readonly rpcUrl: string
  /** Headers of every request to the node, for a provider's key. */
  readonly rpcHeaders?: Readonly<Record<string, string>>
  /** Default `tron:mainnet`. */
  readonly network?: string
  /** Tokens to be paid in beside the known ones. */
  readonly assets?: ReadonlyArray<TronAsset.CustomAsset>
}

const check = OptionCheck.options<Options>({
  rpcUrl: OptionCheck.nodeUrl("https://api.trongrid.io"),
  rpcHeaders: OptionCheck.optional(OptionCheck.record(OptionCheck.text)),
  network: OptionCheck.optional(OptionCheck.text),
  assets: OptionCheck.optional(TronAsset.check)
})

/**
 * Makes the scheme server. Each offer's `extra` tells payers the transfer method and the fee limit to sign; a route's own `extra`
 * may add a recent block (`refBlock`) or name a sponsor. Throws `Misconfigured` if the network or an asset is invalid.
 */
export const server = (options: Options): SchemeServer => {
  const checked = Result.getOrThrow(OptionCheck.read(check, options, "exactTron.server"))
  const { assets, network = TronNetwork.mainnet, rpcHeaders, rpcUrl } = checked
  const table = Result.getOrThrow(TronAsset.table(assets ?? []))
  const chain = TronNetwork.fromText(network)
  if (chain === undefined) {
    throw new Misconfigured({
      message: `exactTron.server: network "${network}" is not a TRON network such as tron:mainnet`
    })
  }
  return {
    scheme: ExactTron.scheme,
    network: chain,
    asset: table.find,
    assetNames: table.names,
    inspect: Effect.fnUntraced(function* (requirements, json) {
      const payment = yield* ExactTronReading.read(chain, table.find, requirements, json)
      const forged = ExactTronVerification.forgery(payment.payload)
      return forged === undefined ? payment.authorization : yield* forged
    }),
    prove: Effect.fnUntraced(function* (provenNetwork, used) {
      const rpc = yield* TronRpc.make({
        url: rpcUrl,
        network: provenNetwork,
        ...(rpcHeaders && { headers: rpcHeaders })
      })
      yield* TronChainCheck.network(rpc, provenNetwork)
      yield* Effect.forEach(used, (token) => TronChainCheck.asset(rpc, token), { discard: true })
    })
  }
}
