/**
 * The schemes of payments by routes between two bridged chains: those of the facilitator on both, of the shop, and of a payer.
 */
import { bridgeEvm, exactEvm } from "@pontage/evm"
import type { EvmTestAccounts } from "@pontage/evm/testing"

import * as BridgedChains from "./BridgedChains.ts"

/** Settings; the defaults are those of a local demonstration. */
export interface Settings {
  /** The RPCs that the facilitator uses; default the chains' own. */
  readonly urls?: { readonly near: string; readonly far: string }
  /** Blocks behind the head from which a block counts as final; default 2. */
  readonly finalityDepth?: number
  /** The bridges; default the two ends of the local one. */
  readonly bridges?: ReturnType<typeof bridgesOf>
  /** Seconds for which the bridge's own executor is waited for; default 10. */
  readonly pushAfterSeconds?: number
  /** The price of a coin of both chains, or the address of its feed on each; default {@link coinPrice}. */
  readonly price?: bigint | string
  /** Names the second network, so that a start does not need its node; default only the node names it. */
  readonly network?: string
}

/** The two ends of the bridge, as a facilitator, a shop and a payer are configured with. */
const bridgesOf = ({ first, lockbox, second, token }: BridgedChains.BridgedChains) => [
  {
    network: first.network,
    asset: first.token.address,
    bridge: lockbox,
    endpointId: BridgedChains.eids.first as number
  },
  { network: second.network, asset: token, bridge: token, endpointId: BridgedChains.eids.second as number }
]

/** Three thousand dollars for a whole coin, in millionths. */
export const coinPrice = 3_000_000_000n

/** The schemes of both chains. */
export type RoutedSchemes = ReturnType<typeof make>

/** The schemes. A facilitator is an effect: it connects to its chains. */
export const make = (chains: BridgedChains.BridgedChains, settings: Settings = {}) => {
  const { first, second } = chains
  const { bridges = bridgesOf(chains), finalityDepth = 2, pushAfterSeconds = 10, price = coinPrice } = settings
  const { network, urls = { near: first.rpcUrl, far: second.rpcUrl } } = settings
  const assets = [{ network: first.network, ...first.token }]
  const [nearSigner] = first.accounts.signers
  const [farSigner] = second.accounts.signers
  const facilitatorBy = (signer: EvmTestAccounts.TestAccount, rpcUrl: string, minimumPrice?: string) =>
    exactEvm.facilitator({
      signer,
      rpcUrl,
      assets,
      finalityDepth,
      ...(minimumPrice !== undefined && { minimumPrice }),
      routes: {
        to: [{ ...(network !== undefined && { network }), rpcUrl: urls.far, coinPrice: price, finalityDepth }],
        coinPrice: price,
        bridges,
        feeTo: nearSigner.address,
        pushAfterSeconds
      }
    })
  return {
    assets,
    bridges,
    facilitatorBy,
    facilitator: facilitatorBy(nearSigner, urls.near),
    deliveries: bridgeEvm.deliveries({ signer: farSigner, rpcUrl: urls.far, bridges, finalityDepth }),
    server: exactEvm.server({ rpcUrl: first.rpcUrl, network: first.network, assets, bridges }),
    client: (signer: EvmTestAccounts.TestAccount) =>
      exactEvm.client({ signer, network: first.network, assets, routes: exactEvm.routes({ bridges }) })
  }
}
