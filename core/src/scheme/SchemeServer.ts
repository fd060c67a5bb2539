/**
 * The seller's half of a scheme: it knows the network's assets and proves, once at start, that the chain agrees.
 */
import type * as Effect from "effect/Effect"

import type { Asset } from "../protocol/Asset.ts"
import type { Network } from "../protocol/Network.ts"
import type { ChainUnavailable, Misconfigured } from "../protocol/ProtocolError.ts"
import type { Scheme } from "./Scheme.ts"
import type { SchemeFacilitator } from "./SchemeFacilitator.ts"

/**
 * The seller's half. Its RPC is used at start, never for a request.
 *
 * @category models
 */
export interface SchemeServer {
  readonly scheme: Scheme
  /** The network it was configured for; `undefined` when it takes the one that its RPC turns out to serve. */
  readonly network: Network | undefined
  /** An asset by address or symbol; without a text the network's dollar stablecoin. */
  readonly asset: (network: Network, text: string | undefined) => Asset | undefined
  /** For people, in the message of an unknown asset: what `asset` would have found. */
  readonly assetNames: (network: Network) => ReadonlyArray<string>
  /** Asks the chain whether it is this network and whether the assets are what we think they are. */
  readonly prove: (
    network: Network,
    assets: ReadonlyArray<Asset>
  ) => Effect.Effect<void, ChainUnavailable | Misconfigured>
  /**
   * What was signed, as the settling half reads it: no chain, no clock, the binding proven. Without it nothing can be sold
   * through a facilitator that keeps no claims, because then they are kept here.
   */
  readonly read?: SchemeFacilitator["read"]
}
