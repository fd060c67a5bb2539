/**
 * A scheme client that buys in its own steps, as one that pays through channels does. The client brings them along, so that a
 * bundle without such a scheme holds none of them.
 */
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"

import type { SettlementPending } from "../protocol/ProtocolError.ts"
import type { SchemeClient, SigningFailed } from "../scheme/SchemeClient.ts"
import type { JournalEntry } from "./JournalEntry.ts"
import type { PayableRequest } from "./PayableRequest.ts"
import type { PaymentDeclined } from "./PaymentDeclined.ts"
import type { JournalUnavailable } from "./PaymentJournal.ts"
import type { Allowed } from "./PaymentPolicy.ts"
import type { PurchaseContext, PurchaseOrder } from "./Purchase.ts"
import type { RefusalError } from "./PurchaseResponse.ts"

/** The failures of a purchase. */
export type PurchaseFailure = PaymentDeclined | SigningFailed | JournalUnavailable | RefusalError | SettlementPending

/** A refund that the shop has made. */
export interface Refunded {
  readonly channelId: string
  readonly transaction: string
  /** In the smallest unit of the asset, by the chain. */
  readonly amount: bigint
}

/** The refund that is wanted. */
export interface RefundOrder {
  /** In the smallest unit of the asset; `undefined` for all that is not spent. */
  readonly amount: bigint | undefined
  /** Milliseconds for which the shop may leave the request without a response; default 120,000. */
  readonly timeoutMillis: number | undefined
}

/**
 * The shop did not respond to a refund in time. Where the request for it was sent (`isAsked`) its outcome is unknown: the shop may still
 * make it, and the channel's balance on the chain shows it. A withdrawal needs no shop.
 */
export class RefundUnanswered
  extends /* @__PURE__ */ Data.TaggedError("RefundUnanswered")<{
    readonly host: string
    /** `undefined` while the shop has offered no channel. */
    readonly channelId: string | undefined
    /** Whether the request for the refund was sent; otherwise no refund comes of this call. */
    readonly isAsked: boolean
    readonly message: string
  }> {}

/** The error of a refund without a response. */
export const unanswered = (
  host: string,
  channelId: string | undefined,
  isAsked: boolean,
  said: string
): RefundUnanswered => {
  const message = isAsked
    ? `the outcome of the refund by ${host} is unknown (${said}); read the channel's balance, ask again, or withdraw without the shop`
    : `${host} was not asked for a refund (${said}); ask again, or withdraw without the shop`
  return new RefundUnanswered({ host, channelId, isAsked, message })
}

/** The steps. */
export interface OwnPurchase {
  /** The reason against an option that the rules allow, by its terms for streams; `undefined` without one. */
  readonly objection?: (allowed: Allowed) => PaymentDeclined | undefined
  readonly buy: (
    context: PurchaseContext,
    request: PayableRequest,
    order: PurchaseOrder
  ) => Effect.Effect<Response, PurchaseFailure>
  /** Sends a payment of unknown outcome again; `undefined` if it is over and was not charged. */
  readonly resume: (
    context: PurchaseContext,
    request: PayableRequest,
    entry: JournalEntry
  ) => Effect.Effect<Response | undefined, PurchaseFailure>
  /** Waits these milliseconds, default 120,000, for the response to the unpaid request of a refund; `url` is its address once it is sent. */
  readonly refundOffered: (
    sending: Effect.Effect<Response>,
    url: () => string,
    timeoutMillis: number | undefined
  ) => Effect.Effect<Response, RefundUnanswered>
  /** Asks the shop to pay back what is not spent, or a part of it. */
  readonly refund: (
    context: PurchaseContext,
    request: PayableRequest,
    order: PurchaseOrder,
    wanted: RefundOrder
  ) => Effect.Effect<Refunded, PurchaseFailure | RefundUnanswered>
}

/** A scheme client with its own steps. */
export interface PurchasingClient extends SchemeClient {
  readonly purchase: OwnPurchase
}

const isPurchasing = (client: SchemeClient): client is PurchasingClient => "purchase" in client

/** The own steps of a scheme client, if it has any. */
export const of = (client: SchemeClient): OwnPurchase | undefined =>
  isPurchasing(client) ? client.purchase : undefined
