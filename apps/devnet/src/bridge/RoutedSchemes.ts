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
  readonly bridges?: Bridges
  /** Whether the first chain's token counts as a dollar; default yes. */
  readonly dollar?: boolean
  /** The attester of CCTP. */
  readonly attesterUrl?: string
  /** Seconds for which the bridge's own executor is waited for; default 10. */
  readonly pushAfterSeconds?: number
  /** The price of a coin of both chains, or the address of its feed on each; default {@link coinPrice}. */
  readonly price?: bigint | string
  /** Names the second network, so that a start does not need its node; default only the node names it. */
  readonly network?: string
}

/** The ends of bridges. */
export type Bridges = ReadonlyArray<{
  readonly kind?: "oft" | "cctp"
  readonly network: string
  readonly asset: string
  readonly bridge: string
  readonly endpointId: number
}>

/** The two ends of the bridge, as a facilitator, a shop and a payer are configured with. */
const bridgesOf = ({ first, lockbox, second, token }: BridgedChains.BridgedChains): Bridges => [
  {
    network: first.network,
    asset: first.token.address,
    bridge: lockbox,
    endpointId: BridgedChains.eids.first
  },
  { network: second.network, asset: token, bridge: token, endpointId: BridgedChains.eids.second }
]

/** Three thousand dollars for a whole coin, in millionths. */
export const coinPrice = 3_000_000_000n

/** The schemes of both chains. */
export type RoutedSchemes = ReturnType<typeof make>

/** The schemes. A facilitator is an effect: it connects to its chains. */
export const make = (chains: BridgedChains.BridgedChains, settings: Settings = {}) =>
  between(chains, { bridges: bridgesOf(chains), ...settings })

/** The schemes of two chains by these bridges. */
export const between = (
  { first, second }: Pick<BridgedChains.BridgedChains, "first" | "second">,
  { bridges, ...settings }: Settings & { readonly bridges: Bridges }
) => {
  const { attesterUrl, dollar = true, finalityDepth = 2, pushAfterSeconds = 10, price = coinPrice } = settings
  const { network, urls = { near: first.rpcUrl, far: second.rpcUrl } } = settings
  const assets = [{ network: first.network, ...first.token, dollar }]
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
        ...(attesterUrl !== undefined && { cctp: { attesterUrl } }),
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
