/**
 * Hints that a payment or a lane has changed. A hint only suggests a look at the records; waiters poll them anyway, so
 * a lost hint costs time and nothing else.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/**
 * A subscription to one topic. `next` completes at the first hint since the subscription began or since `next` last
 * completed.
 */
export interface Subscription {
  readonly next: Effect.Effect<void>
}

/** The hints of one process. */
export interface Signals {
  /** Calls `heard` at every hint, synchronously: it should only take note. Returns the function that ends it. */
  readonly subscribe: (topic: string, heard: () => void) => () => void
  readonly listen: (topic: string) => Effect.Effect<Subscription, never, Scope.Scope>
  /** Notifies the subscribers of the topic. */
  readonly notify: (topic: string) => void
  /** Notifies all subscribers, after hints may have been lost. */
  readonly notifyAll: () => void
}

/** One listener: `rung` before `next` waits, or a waiter to wake. */
interface Listener {
  rung: boolean
  wake: (() => void) | undefined
}

/** Makes signals without subscribers. */
export const make = (): Signals => {
  const listeners = new Map<string, Set<() => void>>()
  const hear: Signals["subscribe"] = (topic, heard) => {
    const listener = () => heard()
    const others = listeners.get(topic) ?? new Set()
    listeners.set(topic, others.add(listener))
    return () => {
      others.delete(listener)
      if (others.size === 0 && listeners.get(topic) === others) listeners.delete(topic)
    }
  }
  const notify = (topic: string) => {
    for (const heard of listeners.get(topic) ?? []) heard()
  }
  return {
    subscribe: hear,
    listen: (topic) =>
      Effect.map(
        Effect.acquireRelease(
          Effect.sync(() => {
            const bell: Listener = { rung: false, wake: undefined }
            return { bell, stop: hear(topic, () => ring(bell)) }
          }),
          ({ stop }) => Effect.sync(stop)
        ),
        ({ bell }) => ({ next: heard(bell) })
      ),
    notify,
    notifyAll: () => {
      for (const topic of listeners.keys()) notify(topic)
    }
  }
}

const ring = (bell: Listener): void => {
  bell.rung = true
  bell.wake?.()
}

const heard = (bell: Listener): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const wake = () => {
      bell.rung = false
      bell.wake = undefined
      resume(Effect.void)
    }
    if (bell.rung) return wake()
    bell.wake = wake
    return Effect.sync(() => {
      if (bell.wake === wake) bell.wake = undefined
    })
  })
