/**
 * The scheme server: it knows the network's assets and proves, once at start, that the chain agrees.
 */
import type * as Effect from "effect/Effect"
import type * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

import type { Asset } from "../protocol/Asset.ts"
import type { Authorization } from "../protocol/Authorization.ts"
import type { Network } from "../protocol/Network.ts"
import type { PaymentError } from "../protocol/PaymentError.ts"
import type { PaymentRequirements } from "../protocol/PaymentRequirements.ts"
import type { ChainUnavailable, Misconfigured } from "../protocol/ProtocolError.ts"
import type { Settlement } from "../protocol/Settlement.ts"
import type { ValidationError } from "../protocol/ValidationError.ts"
import type { Scheme } from "./Scheme.ts"
import type { SchemeFacilitator } from "./SchemeFacilitator.ts"

/**
 * The use of an authorization that the chain calls used: `Settled` by the payment that it was signed for, in a block of this time (Unix
 * seconds); `Burnt` by anything else, such as its cancellation, with the refusal that follows; `Unseen` if the node does not show
 * it, or not yet.
 */
export type Use =
  | { readonly _tag: "Settled"; readonly transaction: string; readonly time: number }
  | { readonly _tag: "Burnt"; readonly error: ValidationError | PaymentError }
  | { readonly _tag: "Unseen" }

/** An option whose money is to arrive on another network. */
export interface OnwardOption {
  /** The asset that is paid in. */
  readonly asset: Asset
  /** The recipient on the other network, in the family's wire form. */
  readonly payTo: string
  /** The other network, and the asset that arrives; default the one that the bridge makes of the paid asset. */
  readonly network: string
  readonly arriving: string | undefined
  /** The asset that arrives, as the server of the other network's own family knows it; absent in the same family. */
  readonly there?: Asset | undefined
  /** The account of the operator that brings the money from its inventory; absent for a bridge. */
  readonly inventory?: string | undefined
}

/** The offer of such an option. The payer pays the fee beside the price. */
export interface OnwardOffer {
  readonly payTo: string
  readonly amount: bigint
  readonly extra: Readonly<Record<string, Schema.Json>>
}

/** A facilitator's quote, as it travels. */
export type OnwardQuote = Readonly<Record<string, Schema.Json>>

/** An option by one quote. */
export interface QuotedOnward {
  /** `undefined` if the price is below the least amount that is worth the way. */
  readonly offer: OnwardOffer | undefined
  /** Unix seconds: later it is not offered any more. */
  readonly quotedUntil: number
}

/** Makes the offers of an option. */
export interface OnwardOffers {
  /** The network that its money goes on to. */
  readonly network: string
  /** By the first of these quotes that is for this option; `undefined` if none is. */
  readonly quoted: (price: bigint, quotes: ReadonlyArray<OnwardQuote>) => QuotedOnward | undefined
  /** Without a fee: the terms that a payment on record has to meet, whatever it was quoted then. */
  readonly onRecord: (price: bigint) => OnwardOffer
}

/** A draw on a channel in the words of its scheme. */
export interface DrawWords {
  /** The facts of a receipt for a draw of which this part is not charged. */
  readonly receipt: (facts: Readonly<Record<string, Schema.Json>>, uncharged: bigint) => Settlement["extra"]
}

/** The scheme server of a shop. Its RPC is used at start, and not for requests that a facilitator has a response to. */
export interface SchemeServer {
  readonly scheme: Scheme
  /** The network that it was configured for; `undefined` if it takes the network that its RPC serves. */
  readonly network: Network | undefined
  /** An asset by address or symbol; without a text the network's dollar stablecoin. */
  readonly asset: (network: Network, text: string | undefined) => Asset | undefined
  /** The assets that `asset` finds, for the message about an unknown one. */
  readonly assetNames: (network: Network) => ReadonlyArray<string>
  /**
   * Further terms of an offer in an asset, given the `extra` fields that the facilitator requires of all offers on the network: for
   * example the ways to pay that both allow.
   */
  readonly extra?: (
    asset: Asset,
    offered: Readonly<Record<string, Schema.Json>>
  ) => Readonly<Record<string, Schema.Json>>
  /** Present if its payments draw on channels: then the facilitator has to keep the ledger of them. */
  readonly draws?: DrawWords
  /** Checks an option whose money goes on to another network; fails with a sentence that says what to change. Without it there are none. */
  readonly onward?: (option: OnwardOption) => Result.Result<OnwardOffers, string>
  /** Checks on the chain that it is this network and that the assets are as configured. */
  readonly prove: (
    network: Network,
    assets: ReadonlyArray<Asset>
  ) => Effect.Effect<void, ChainUnavailable | Misconfigured>
  /**
   * Reads the signed terms as the scheme facilitator does: no chain, no clock, the binding proven. Without it nothing can be sold
   * through a facilitator that keeps no claims, because then the claims are kept here.
   */
  readonly read?: SchemeFacilitator["read"]
  /**
   * Checks a payment in the shop, before the request to the facilitator: the signed terms and, if their bytes prove it, that the payer has
   * signed them. No chain, no clock. Its refusals hold whatever the chain shows; a check that needs the chain, such as the signature of an
   * account with code, passes. Without it every invented payment reaches the facilitator.
   */
  readonly inspect?: (
    requirements: PaymentRequirements,
    payload: unknown
  ) => Effect.Effect<Authorization, PaymentError | ValidationError>
  /**
   * Finds the use of this payment's authorization. Called if a request to a facilitator that keeps no records had no response, and the response
   * to the next one does not say the payment's outcome. A scheme whose payers can use an authorization up without paying needs it:
   * without it, an authorization that the facilitator calls used counts as paid. A use before `since` (Unix seconds) need not be found.
   */
  readonly useOf?: (
    requirements: PaymentRequirements,
    payload: unknown,
    since: number
  ) => Effect.Effect<Use, ValidationError | PaymentError | ChainUnavailable | Misconfigured>
}
