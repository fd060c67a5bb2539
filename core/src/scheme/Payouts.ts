/**
 * An operator's payments from its own account on a network where each signing makes another payment: nothing on the chain keeps two of them
 * from being made. So a payment is signed while no earlier one can be made any more, and is on record before it is sent (`Push.once`).
 */
import type * as Effect from "effect/Effect"

import type { Asset } from "../protocol/Asset.ts"
import type { Network } from "../protocol/Network.ts"
import type { ChainUnavailable, Misconfigured } from "../protocol/ProtocolError.ts"
import type { DeliveryObservation, Push } from "./Onward.ts"
import type { Scheme } from "./Scheme.ts"

/** A payment to make. */
export interface PayoutOrder {
  readonly asset: Asset
  /** In the family's wire form. */
  readonly recipient: string
  /** In the asset's smallest unit. */
  readonly amount: bigint
}

/**
 * The state of a signed payment. `Open`: it may still be made. `Over`: it was not made, and a final block proves that it never can be;
 * `isUnsent` if no part of it was carried out, so that it has cost nothing.
 */
export type PayoutState =
  | Extract<DeliveryObservation, { readonly _tag: "Delivered" }>
  | { readonly _tag: "Open" }
  | { readonly _tag: "Over"; readonly isUnsent: boolean }

/** The result of a signing. The reasons are sentences for people. */
export type PayoutSigning =
  | { readonly _tag: "Signed"; readonly push: Push }
  /** The account makes another payment first. */
  | { readonly _tag: "Waiting"; readonly reason: string }
  /** The chain would not make the payment now. */
  | { readonly _tag: "Refused"; readonly reason: string }

/** The payments of one account on one network. */
export interface Payouts {
  /** The scheme by which they are settled. */
  readonly scheme: Scheme
  readonly network: Network
  /** The account, in the family's wire form. */
  readonly account: string
  /** An asset by address or symbol; without a text the network's dollar stablecoin. */
  readonly asset: (text: string | undefined) => Asset | undefined
  /** Checks on the chain that it is this network and that the asset is as configured. */
  readonly prove: (asset: Asset) => Effect.Effect<void, ChainUnavailable | Misconfigured>
  /** The account's balance, in the smallest unit. */
  readonly balance: (asset: Asset) => Effect.Effect<bigint, ChainUnavailable>
  /** Signs a payment that the chain would make now. Sends nothing. */
  readonly sign: (order: PayoutOrder) => Effect.Effect<PayoutSigning, ChainUnavailable>
  readonly observe: (push: Push) => Effect.Effect<PayoutState, ChainUnavailable>
}
