/**
 * A receiver of webhooks as the deliverer knows it: how many requests to it are under way, and whether it answers. One that
 * fails is asked by one request at a time, after pauses that double with each failure; its first good answer ends that.
 */
import type { WebhookTerms } from "../callers/CallerTerms.ts"

/** A receiver. It changes in its place. */
export interface WebhookReceiver {
  readonly terms: WebhookTerms
  /** Requests that may be under way together. */
  readonly width: number
  underWay: number
  /** Failures since its last good answer; those of requests that began before the last of them do not count. */
  failures: number
  /** Nothing is sent before this time, by the monotonic clock in nanoseconds. */
  pausedUntil: bigint
}

/** Requests under way to one receiver at most. */
const widest = 16

/** Requests under way in all, which the receivers divide among them; each may have one. */
const widestInAll = 1024

const firstPauseMillis = 1_000
const longestPauseMillis = 30_000

/** A receiver of whom nothing is known yet, beside so many others. */
export const make = (terms: WebhookTerms, receivers: number): WebhookReceiver => ({
  terms,
  width: Math.max(1, Math.min(widest, Math.floor(widestInAll / receivers))),
  underWay: 0,
  failures: 0,
  pausedUntil: 0n
})

/** How many more requests may be sent to it now. */
export const room = ({ failures, pausedUntil, underWay, width }: WebhookReceiver, now: bigint): number =>
  now < pausedUntil ? 0 : Math.max(0, (failures === 0 ? width : 1) - underWay)

/** Notes how a request ended that began after so many failures. */
export const note = (receiver: WebhookReceiver, isGood: boolean, failuresBefore: number, now: bigint): void => {
  if (isGood) {
    receiver.failures = 0
    receiver.pausedUntil = 0n
  } else if (receiver.failures <= failuresBefore) {
    receiver.failures += 1
    receiver.pausedUntil = now + BigInt(pauseMillis(receiver.failures)) * 1_000_000n
  }
}

const pauseMillis = (failures: number): number =>
  Math.min(longestPauseMillis, firstPauseMillis * 2 ** Math.min(failures - 1, 20))
