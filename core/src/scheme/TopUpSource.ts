/**
 * The part of a chain family that brings a payer's own money from one network to the same account on another one. It reads the payer's
 * own nodes; a facilitator quotes and sends, and is believed nothing else.
 */
import type * as Effect from "effect/Effect"

import type { Asset } from "../protocol/Asset.ts"
import type { PaymentFailure } from "../protocol/PaymentFailure.ts"
import type { PaymentRequirements } from "../protocol/PaymentRequirements.ts"
import type { ChainUnavailable, ProtocolError } from "../protocol/ProtocolError.ts"
import type { SchemeClient } from "./SchemeClient.ts"

/** One way to bring money, by one quote. Amounts are in the smallest unit, which both assets share. */
export interface TopUpOffer {
  readonly from: Asset
  readonly to: Asset
  /** The balance of the payer's account in `from`. */
  readonly available: bigint
  /** The highest fee for an amount that arrives: of the facilitator, and of those who carry the money. */
  readonly feeFor: (amount: bigint) => bigint
  /** The largest amount that arrives of a total that leaves; zero or less where the fee takes all of it. */
  readonly arrivingOf: (total: bigint) => bigint
  /** The least amount that is sent. */
  readonly minimum: bigint
  /** Unix seconds. */
  readonly quotedUntil: number
  readonly expectedSeconds: number
  /** The terms to sign for an amount that arrives. */
  readonly requirements: (amount: bigint) => PaymentRequirements
}

/** The state of a signed top-up, by the payer's own nodes. The reasons are sentences for people. */
export type TopUpObservation =
  /** The authorization is unused, and may still be used. */
  | { readonly _tag: "Unsent" }
  /** The authorization can bring nothing any more. */
  | { readonly _tag: "Dead"; readonly reason: string }
  /** The money has left its network. */
  | { readonly _tag: "Underway"; readonly transaction: string }
  | {
      readonly _tag: "Arrived"
      /** The transaction on the first network. */
      readonly departed: string
      readonly transaction: string
      readonly amount: bigint
    }

/** A family's top-ups. */
export interface TopUpSource {
  /** The facilitator's address, without a slash at its end. */
  readonly facilitator: string
  /** The payer's account, the same on all of its networks. */
  readonly account: string
  /** The networks that money goes between. */
  readonly networks: ReadonlyArray<string>
  /** Signs the terms of an offer, and knows what it must not sign. */
  readonly schemeClient: SchemeClient
  /** Milliseconds for which an arrival is waited for. */
  readonly waitMillis: number
  /** The least amount that a purchase brings of an asset. */
  readonly least: (asset: Asset) => bigint
  /** The account's balance; `undefined` on a network that is none of the source's. */
  readonly balanceOf: (asset: Asset) => Effect.Effect<bigint | undefined, ChainUnavailable>
  /** The ways to a network, or to one asset of it, that the facilitator quotes now. */
  readonly offers: (
    network: string,
    asset: string | undefined
  ) => Effect.Effect<ReadonlyArray<TopUpOffer>, ProtocolError>
  /** Has the facilitator send a signed top-up. Sending it again is harmless. */
  readonly submit: (payload: unknown, requirements: PaymentRequirements) => Effect.Effect<void, PaymentFailure>
  /** Looks for a signed top-up on both networks. */
  readonly observe: (
    payload: unknown,
    requirements: PaymentRequirements,
    paymentId: string
  ) => Effect.Effect<TopUpObservation, ChainUnavailable>
}
