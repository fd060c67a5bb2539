/**
 * The seller's half of a scheme: it knows the network's assets and proves, once at start, that the chain agrees.
 */
import type * as Effect from "effect/Effect"

import type { Asset } from "../protocol/Asset.ts"
import type { Authorization } from "../protocol/Authorization.ts"
import type { Network } from "../protocol/Network.ts"
import type { PaymentError } from "../protocol/PaymentError.ts"
import type { PaymentRequirements } from "../protocol/PaymentRequirements.ts"
import type { ChainUnavailable, Misconfigured } from "../protocol/ProtocolError.ts"
import type { ValidationError } from "../protocol/ValidationError.ts"
import type { Scheme } from "./Scheme.ts"
import type { SchemeFacilitator } from "./SchemeFacilitator.ts"

/**
 * How the chain has come to call an authorization used: `Settled` by the payment that it was signed for, in a block of
 * this time (Unix seconds); `Burnt` by anything else, such as its cancellation, and the refusal that follows; `Unseen`
 * where the node does not show it, or not yet.
 */
export type Use =
  | { readonly _tag: "Settled"; readonly transaction: string; readonly time: number }
  | { readonly _tag: "Burnt"; readonly error: ValidationError | PaymentError }
  | { readonly _tag: "Unseen" }

/** The seller's half. Its RPC is used at start, and for no request that a facilitator has an answer to. */
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
  /**
   * What the shop can tell of a payment by itself, before the facilitator is asked: the terms that were signed and, where
   * their bytes prove it, that the payer has signed them. No chain, no clock. What it refuses is refused whatever the chain
   * shows; what only the chain can judge, such as the signature of an account with code, passes. Without it every payment
   * that anybody makes up reaches the facilitator.
   */
  readonly inspect?: (
    requirements: PaymentRequirements,
    payload: unknown
  ) => Effect.Effect<Authorization, PaymentError | ValidationError>
  /**
   * What used this payment's authorization. Asked where a call to a facilitator that keeps no records went unanswered, and
   * the next one does not say what became of the payment. A scheme whose payers can use an authorization up without paying
   * has to have it: left out, an authorization that the facilitator calls used is paid. A use before `since` (Unix seconds)
   * need not be found.
   */
  readonly useOf?: (
    requirements: PaymentRequirements,
    payload: unknown,
    since: number
  ) => Effect.Effect<Use, ValidationError | PaymentError | ChainUnavailable | Misconfigured>
}
