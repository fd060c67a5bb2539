/**
 * The contract that lets payments travel together, put on every network of the settings by their first signer. Where it is
 * already, nothing is sent.
 */
import { type ChainUnavailable, Misconfigured } from "@pontage/core"
import { deployBatchSettler, EvmNetwork, EvmRpc, exactEvm } from "@pontage/evm"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

import type { EvmNetworkSettings, FacilitatorSettings } from "../settings/FacilitatorSettings.ts"

/** Where the contract is. */
export interface DeployedSettler {
  readonly network: string
  readonly settler: string
}

/**
 * Deploys to one network after the other, each in at most two minutes. It stops at the first that refuses
 * (`Misconfigured`: another network is served, the fee is too high, the signer has no coin) or cannot be asked; running it
 * again is harmless.
 */
export const deploy = Effect.fnUntraced(function* ({
  evm,
  evmSignerKeys: [key]
}: Pick<FacilitatorSettings, "evm" | "evmSignerKeys">): Effect.fn.Return<
  ReadonlyArray<DeployedSettler>,
  ChainUnavailable | Misconfigured
> {
  if (key === undefined) return yield* new Misconfigured({ message: "PONTAGE_EVM_SIGNER_KEY: no signer" })
  return yield* Effect.forEach(evm, (settings) => deployTo(settings, key))
})

const deployTo = Effect.fnUntraced(function* (
  { network, rpcUrl, terms }: EvmNetworkSettings,
  key: Redacted.Redacted
): Effect.fn.Return<DeployedSettler, ChainUnavailable | Misconfigured> {
  const url = Redacted.value(rpcUrl)
  const rpc = yield* EvmRpc.make({ url, network: network ?? "eip155" })
  const served = EvmNetwork.fromChainId(yield* rpc.chainId)
  if (network !== undefined && served !== network) {
    return yield* new Misconfigured({ message: `the node that is set for ${network} serves ${served}` })
  }
  const signer = yield* Effect.try({
    try: () => exactEvm.localSigner(key),
    catch: () => new Misconfigured({ message: "PONTAGE_EVM_SIGNER_KEY: the first key is no private key" })
  })
  const maxFeePerGas = terms?.maxFeePerGas
  const settler = yield* deployBatchSettler({
    signer,
    rpcUrl: url,
    ...(maxFeePerGas !== undefined && { maxFeePerGas })
  })
  return { network: served, settler }
})
