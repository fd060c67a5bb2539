/**
 * The part of a scheme facilitator whose payments go on to another network: the payer pays on one chain, and a bridge brings the
 * money to its recipient on another one. The engine settles the payment as any other. Then it observes the delivery, and pushes it
 * where no other party has done so. A push is a payment of its own on the other network, so it is recorded before it is sent.
 */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

import type { Network } from "../protocol/Network.ts"
import type { PaymentRequirements } from "../protocol/PaymentRequirements.ts"
import type { ChainUnavailable } from "../protocol/ProtocolError.ts"
import type { Block, Payment } from "./Payment.ts"

/** A payment whose money has left its network. */
export interface Departure<Payload = unknown> {
  readonly payment: Payment<Payload>
  /** The transaction that moved the money, and its block, as the record has them. */
  readonly transaction: string
  readonly block: Block
  /** The number of the next push, from 1. It is a part of the push's nonce: a failed push needs another one. */
  readonly attempt: number
  /** The last push, as it is on record; absent before the first one. It has this number, or failed and has the one before. */
  readonly pushed?: Push | undefined
}

/** The terms of a payment on the other network whose settlement is the delivery. */
export interface Push {
  /** Its scheme and network name the scheme facilitator that settles it. */
  readonly requirements: PaymentRequirements
  readonly payload: Schema.Json
  /**
   * Signed again, it would be another payment, and both could be made. So it is on record with the delivery before it is a payment of its
   * own: whoever observes the delivery afterwards pushes these bytes, and others only once these can never be used.
   */
  readonly once?: true
  /**
   * The other network takes its bytes for a time only, and makes one push of a delivery at most, whichever bytes it has. So bytes that are
   * refused before they are signed into a transaction are followed by other ones under the next number.
   */
  readonly renewable?: true
}

/** A push of a delivery, or the reason why none can be made now, a sentence for people. */
export type PushSigning =
  /** It cannot be delivered now: it is not attested yet, or an earlier message has to arrive first. */
  | { readonly _tag: "Underway"; readonly reason: string }
  /** Any party can deliver it now. */
  | { readonly _tag: "Ready"; readonly push: Push }
  /** It is attested, and delivering it would fail now, for example because the token has frozen its recipient. */
  | { readonly _tag: "Blocked"; readonly reason: string }

/** The state of a delivery on the other network. */
export type DeliveryObservation =
  | PushSigning
  /**
   * Only a push that is another payment at each signing (`Push.once`) can deliver it, and the last one, if there was one, can never be made.
   * `sign` signs it, and runs only where it can be recorded: an account may have to wait for the end of each payment that it has signed.
   * `isLastUnsent`: the last push was never sent and cost nothing, so it does not count as a failed one.
   */
  | {
      readonly _tag: "Unsigned"
      readonly sign: Effect.Effect<PushSigning, ChainUnavailable>
      readonly isLastUnsent?: true
    }
  /** The money is at its recipient, whichever party delivered it: the token's own transfer is in this block. */
  | {
      readonly _tag: "Delivered"
      readonly transaction: string
      readonly block: Block
      /** The amount that arrived, in the smallest unit of the other network's token. */
      readonly amount: bigint
      /** Whether the block is not reorganised any more. */
      readonly final: boolean
    }

/** A part of an operator's own stock on another network: the amount that a delivery is paid from. */
export interface StockDraw {
  /** The name of the stock: network, asset and account. */
  readonly stock: string
  /** The name of the pair of assets whose deliveries have a limit of their own. */
  readonly pair: string
  /** In the smallest unit of the other network's token. */
  readonly amount: bigint
}

/** The stock that a payment's delivery is paid from, by the operator's present settings. */
export interface Stock {
  readonly draw: StockDraw
  /** The most that deliveries of the pair may draw in any 24 hours. */
  readonly perDay: bigint
  /** The stock's balance on its chain now. */
  readonly balance: Effect.Effect<bigint, ChainUnavailable>
}

/** The place where a payment's money arrives. */
export interface OnwardPlace {
  readonly network: string
  readonly asset: string
  readonly payTo: string
}

/** The onward part of a scheme facilitator. */
export interface Onward<Payload = unknown> {
  /**
   * The network that a payment's money goes on to; `undefined` if it stays on its own. Read from the signed bytes alone: no chain, no
   * clock.
   */
  destination(payment: Payment<Payload>): Network | undefined
  /**
   * The place where the money of an offer's payments arrives; `undefined` if it stays on the offer's network, and for terms that cannot be
   * read, by which no payment is taken. Absent if the offer's own payee and asset are always that place.
   */
  place?(requirements: PaymentRequirements): OnwardPlace | undefined
  /**
   * The operator's own stock that a payment is delivered from; absent, or `undefined`, where a bridge holds its money. The engine
   * reserves the amount together with the record, so no two payments draw the same money. Read from the signed bytes and the settings.
   */
  stock?(payment: Payment<Payload>): Stock | undefined
  /** Reads the departure and the delivery from both chains. Nothing is remembered between two calls. */
  observe(departure: Departure<Payload>): Effect.Effect<DeliveryObservation, ChainUnavailable>
}
