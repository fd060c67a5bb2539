/** A metered stream that a payer follows, as its caller sees it beside the body. */
import * as Data from "effect/Data"

import type { MeteredTerms } from "./MeteredTerms.ts"

/**
 * Rejects the body of a stream that ended before its end: its connection broke, its shop ended it, or fewer bytes came than its head
 * announces. The bytes that came were passed on. Amounts are in the smallest unit of the asset.
 */
export class StreamBroken extends Data.TaggedError("StreamBroken")<{
  readonly message: string
  /** The bytes of the body that came. */
  readonly bytes: bigint
  /** The charge that counts for them (`StreamEnd.charged`). */
  readonly charged: bigint
  /** The most that the vouchers of the stream allow to claim. */
  readonly signed: bigint
  readonly cause: unknown
}> {}

/**
 * How a stream ended: `complete` when the shop sent the rest and its receipt, `limit` when the payer's rules allowed no further
 * window, `cancelled` by the caller, `broken` with its connection, `stopped` when the shop asked for what is not signed, took no
 * voucher, or sent no receipt.
 */
export type StreamOutcome = "complete" | "limit" | "cancelled" | "broken" | "stopped"

/** The end of a stream. Amounts are in the smallest unit of the asset. */
export interface StreamEnd {
  readonly outcome: StreamOutcome
  /** The charge by the shop's word as far as vouchers cover it; all that they allow, where it said nothing that fits. */
  readonly charged: bigint
  /** The most that the vouchers of the stream allow to claim. */
  readonly signed: bigint
  /** The units that the shop has charged, if it says so. */
  readonly units: bigint | undefined
  /** The reason of an outcome other than `complete`: a `PaymentDeclined`, or another error. */
  readonly reason: unknown
}

/** The stream. */
export interface FollowedStream {
  readonly terms: MeteredTerms
  /** The most that the vouchers of the stream allow to claim by now. */
  readonly signed: () => bigint
  /** Resolves when the body has ended or was cancelled, and the books have it. It never rejects. */
  readonly ended: Promise<StreamEnd>
}

const streams = new WeakMap<Response, FollowedStream>()

/** The metered stream of a response that was paid for here; `undefined` if it is none. */
export const of = (response: Response): FollowedStream | undefined => streams.get(response)

/** Notes the stream of a response. */
export const note = (response: Response, stream: FollowedStream): void => void streams.set(response, stream)
