/**
 * Deployment of the facilitator's contracts to every network of the settings by their first signer. For a contract that a
 * network has already there is no transaction.
 */
import { type ChainUnavailable, Misconfigured } from "@pontage/core"
import {
  deployBatchSettler,
  deployBridgeRouter,
  deployCctpRouter,
  deployCounterfactualSettler,
  deployOpSettler,
  deployPaymentGuard,
  deployPermitSettler,
  EvmNetwork,
  EvmRpc,
  exactEvm
} from "@pontage/evm"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

import type { EvmNetworkSettings, EvmSettings } from "../settings/EvmSettings.ts"

/** A deployed contract. */
export interface DeployedSettler {
  readonly network: string
  readonly name: string
  readonly settler: string
}

const contracts = [
  { name: "batch settler", deploy: deployBatchSettler },
  { name: "counterfactual settler", deploy: deployCounterfactualSettler },
  { name: "operation settler", deploy: deployOpSettler },
  { name: "payment guard", deploy: deployPaymentGuard },
  { name: "permit settler", deploy: deployPermitSettler }
]

/** The contract that sends payments on to other networks, deployed where the settings have routes; and the one over CCTP. */
const router = { name: "bridge router", deploy: deployBridgeRouter }
const cctpRouter = { name: "CCTP router", deploy: deployCctpRouter }

/**
 * Deploys to one network after the other, each contract in at most two minutes. Stops at the first network that refuses
 * (`Misconfigured`: the node serves another network, the fee is too high, the signer has no coin) or does not respond. Running
 * it again is harmless.
 */
export const deploy = Effect.fnUntraced(function* ({
  evm,
  evmRoutes,
  evmSignerKeys: [key]
}: Pick<EvmSettings, "evm" | "evmRoutes" | "evmSignerKeys">): Effect.fn.Return<
  ReadonlyArray<DeployedSettler>,
  ChainUnavailable | Misconfigured
> {
  if (key === undefined) return yield* new Misconfigured({ message: "PONTAGE_EVM_SIGNER_KEY: no signer" })
  return (yield* Effect.forEach(evm, (settings) => deployTo(settings, key, evmRoutes?.cctp !== undefined))).flat()
})

const deployTo = Effect.fnUntraced(function* (
  { network, routes, rpcUrl, terms }: EvmNetworkSettings,
  key: Redacted.Redacted,
  overCctp: boolean
): Effect.fn.Return<ReadonlyArray<DeployedSettler>, ChainUnavailable | Misconfigured> {
  const url = Redacted.value(rpcUrl)
  const rpc = yield* EvmRpc.make({ url, network: network ?? "eip155" })
  const served = EvmNetwork.fromChainId(yield* rpc.chainId)
  if (network !== undefined && served !== network) {
    return yield* new Misconfigured({ message: `the node for ${network} serves ${served}; set another node` })
  }
  const signer = yield* Effect.try({
    try: () => exactEvm.localSigner(key),
    catch: () => new Misconfigured({ message: "PONTAGE_EVM_SIGNER_KEY: the first key is not a valid private key" })
  })
  const maxFeePerGas = terms?.maxFeePerGas
  const options = { signer, rpcUrl: url, ...(maxFeePerGas !== undefined && { maxFeePerGas }) }
  return yield* Effect.forEach(
    [...contracts, ...(routes === undefined ? [] : [router, ...(overCctp ? [cctpRouter] : [])])],
    ({ deploy: deployOne, name }) => Effect.map(deployOne(options), (settler) => ({ network: served, name, settler }))
  )
})
