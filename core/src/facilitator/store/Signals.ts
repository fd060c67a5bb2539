/**
 * Hints that something has happened: to a payment, or to a lane. A hint says only that it is worth looking; who waits for
 * one looks at the records anyway from time to time, so one that is lost costs time and nothing else.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/**
 * An ear on one topic. `next` completes at the first hint since the ear was opened or since `next` last completed.
 */
export interface Subscription {
  readonly next: Effect.Effect<void>
}

/** The hints of one process. */
export interface Signals {
  /** Calls at every hint, from where the hint is given: what is called only notes it. Returns how to stop it. */
  readonly subscribe: (topic: string, heard: () => void) => () => void
  readonly listen: (topic: string) => Effect.Effect<Subscription, never, Scope.Scope>
  /** Tells everybody who listens to the topic. */
  readonly notify: (topic: string) => void
  /** Tells everybody: when hints may have been lost. */
  readonly notifyAll: () => void
}

/** One listener: rung before somebody waits, or a waiter to be woken. */
interface Listener {
  rung: boolean
  wake: (() => void) | undefined
}

/** Makes an empty exchange of hints. */
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
