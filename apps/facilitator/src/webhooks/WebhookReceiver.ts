/**
 * State of a webhook receiver: its open requests and its failures. A receiver that fails gets one request at a time, after
 * pauses that double with each failure, until its first success.
 */
import type { WebhookTerms } from "../callers/CallerTerms.ts"

/** A receiver. Its state is mutable. */
export interface WebhookReceiver {
  readonly terms: WebhookTerms
  /** Most open requests. */
  readonly width: number
  open: number
  /** Failures since its last success. A request that began before the latest failure does not add another. */
  failures: number
  /** Earliest time of the next request, by the monotonic clock in nanoseconds. */
  pausedUntil: bigint
}

/** Most open requests to one receiver. */
const widest = 16

/** Most open requests in total, divided among the receivers; each may have one. */
const widestInAll = 1024

/** Failures without a success between them after which a receiver counts as lost; their pauses take an hour. */
const failuresOfLost = 120

const firstPauseMillis = 1_000
const longestPauseMillis = 30_000

/** A receiver without history. `receivers` is the number of all receivers. */
export const make = (terms: WebhookTerms, receivers: number): WebhookReceiver => ({
  terms,
  width: Math.max(1, Math.min(widest, Math.floor(widestInAll / receivers))),
  open: 0,
  failures: 0,
  pausedUntil: 0n
})

/** Number of requests that may be sent to it now. */
export const room = ({ failures, pausedUntil, open, width }: WebhookReceiver, now: bigint): number =>
  now < pausedUntil ? 0 : Math.max(0, (failures === 0 ? width : 1) - open)

/** Notes the result of a request; `failuresBefore` is the number of failures when it began. */
export const note = (receiver: WebhookReceiver, isGood: boolean, failuresBefore: number, now: bigint): void => {
  if (isGood) {
    receiver.failures = 0
    receiver.pausedUntil = 0n
  } else if (receiver.failures <= failuresBefore) {
    receiver.failures += 1
    receiver.pausedUntil = now + BigInt(pauseMillis(receiver.failures)) * 1_000_000n
  }
}

/** Whether it has failed for an hour: no success is expected. */
export const isLost = ({ failures }: WebhookReceiver): boolean => failures >= failuresOfLost

const pauseMillis = (failures: number): number =>
  Math.min(longestPauseMillis, firstPauseMillis * 2 ** Math.min(failures - 1, 20))
