/** The error of a refund to which a shop does not respond. */
import * as Data from "effect/Data"

/**
 * The shop did not respond to a refund in time. Where the request for it was sent (`isAsked`) its outcome is unknown: the shop may still
 * make it, and the channel's balance on the chain shows it. A withdrawal needs no shop.
 */
export class RefundUnanswered extends Data.TaggedError("RefundUnanswered")<{
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
