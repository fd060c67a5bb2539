/**
 * The messages to the process that reads streams, and what it has heard.
 */
import * as Schema from "effect/Schema"

/** To open a number of streams, or to listen for some seconds. */
const Asked = Schema.Union([Schema.Struct({ open: Schema.Number }), Schema.Struct({ seconds: Schema.Number })])
export type Asked = typeof Asked.Type

/** Decodes a message to the readers. */
export const decodeAsked = Schema.decodeUnknownSync(Asked)

/** The readers' figures. Delays in milliseconds: from the instant at which a tick was due to the one at which it was read. */
const Heard = Schema.Struct({
  opened: Schema.Number,
  /** Streams that ended, since the first one was opened. */
  ended: Schema.Number,
  ticks: Schema.Number,
  /** Vouchers that the shop took. */
  vouchers: Schema.Number,
  /** Vouchers that it did not take, since the first stream was opened. */
  refused: Schema.Number,
  p50: Schema.Number,
  p99: Schema.Number,
  longest: Schema.Number
})
export type Heard = typeof Heard.Type

/** Decodes what the readers have heard. */
export const decodeHeard = Schema.decodeUnknownSync(Heard)
