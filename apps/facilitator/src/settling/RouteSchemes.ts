/**
 * Routes to other networks: the option of a network's `exact` scheme, and for each other network the scheme that delivers what a
 * bridge's executor has left.
 */
import type { FacilitatorScheme, Misconfigured } from "@pontage/core"
import { bridgeEvm, type EvmCrypto, type EvmTransactionSigner } from "@pontage/evm"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

import * as FacilitatorMetrics from "../metrics/FacilitatorMetrics.ts"
import type { EvmNetworkSettings } from "../settings/EvmSettings.ts"
import type { FacilitatorSettings } from "../settings/FacilitatorSettings.ts"
import type { FarTerms, RouteTerms, SharedTerms } from "../settings/RouteSettings.ts"
import type { ConfiguredChain } from "./ChainConnections.ts"
import * as EvmSigners from "./EvmSigners.ts"

/** The option `routes` of `exactEvm.facilitator`. */
export const optionOf = ({ to, ...terms }: RouteTerms, { bridges, cctp }: SharedTerms) => ({
  ...terms,
  bridges,
  ...(cctp && { cctp }),
  // The price of gas is limited for the deliveries alone.
  to: to.map(({ coinPrice, finalityDepth, network, rpcUrl }) => ({
    network,
    coinPrice,
    rpcUrl: Redacted.value(rpcUrl),
    ...(finalityDepth !== undefined && { finalityDepth })
  }))
})

/** The schemes of deliveries, one for each other network. */
export const deliveries = Effect.fnUntraced(function* (
  { evm, evmRoutes }: FacilitatorSettings,
  crypto: EvmCrypto.Shape
): Effect.fn.Return<ReadonlyArray<ConfiguredChain>, Misconfigured> {
  if (evmRoutes === undefined) return []
  const signer = yield* Effect.forEach(evmRoutes.signers, (key) =>
    EvmSigners.make("PONTAGE_EVM_DELIVERY_SIGNER_KEY", key, crypto)
  )
  return farNetworks(evm).map((far) => ({
    scheme: "delivery",
    network: far.network,
    node: EvmSigners.originOf(far.rpcUrl),
    connect: deliveryScheme(far, evmRoutes, signer)
  }))
})

/** Each of them once. */
const farNetworks = (evm: ReadonlyArray<EvmNetworkSettings>): ReadonlyArray<FarTerms> => [
  ...new Map(evm.flatMap(({ routes }) => routes?.to ?? []).map((far) => [far.network, far])).values()
]

const deliveryScheme = (
  { finalityDepth, maxFeePerGas, network, rpcUrl }: FarTerms,
  { bridges }: SharedTerms,
  signer: ReadonlyArray<EvmTransactionSigner>
): FacilitatorScheme =>
  Effect.flatMap(FacilitatorMetrics.rpcCounter, (countRequest) =>
    bridgeEvm.deliveries({
      signer,
      rpcUrl: Redacted.value(rpcUrl),
      network,
      bridges,
      ...(finalityDepth !== undefined && { finalityDepth }),
      ...(maxFeePerGas !== undefined && { maxFeePerGas }),
      onRequest: (method) => countRequest(network, method)
    })
  )
