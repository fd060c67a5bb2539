/** Signals that a channel's credit may have changed in this process, for the streams that wait for credit. */
import * as Effect from "effect/Effect"

/** A waiting stream. */
export interface SignalWatch {
  /** Completes at the first change since the last one that was taken. */
  readonly next: Effect.Effect<void>
  readonly close: () => void
}

/** The signals of one facilitator. */
export interface ChannelSignals {
  /** Wakes the streams that wait on a channel. */
  readonly changed: (channelId: string) => void
  readonly watch: (channelId: string) => SignalWatch
}

class Waiter implements SignalWatch {
  #isChanged = false
  #resume: (() => void) | undefined
  readonly close: () => void

  constructor(close: (self: Waiter) => void) {
    this.close = () => close(this)
  }

  wake(): void {
    const resume = this.#resume
    this.#resume = undefined
    if (resume === undefined) this.#isChanged = true
    else resume()
  }

  readonly next = Effect.callback<void>((resume) => {
    if (this.#isChanged) {
      this.#isChanged = false
      return resume(Effect.void)
    }
    this.#resume = () => resume(Effect.void)
    return Effect.sync(() => {
      this.#resume = undefined
    })
  })
}

/** Begins without waiting streams. */
export const make = (): ChannelSignals => {
  const channels = new Map<string, Set<Waiter>>()
  return {
    changed: (channelId) => channels.get(channelId)?.forEach((waiter) => waiter.wake()),
    watch: (channelId) => {
      const waiters = channels.get(channelId) ?? new Set()
      channels.set(channelId, waiters)
      const waiter = new Waiter((self) => {
        waiters.delete(self)
        if (waiters.size === 0 && channels.get(channelId) === waiters) channels.delete(channelId)
      })
      waiters.add(waiter)
      return waiter
    }
  }
}
