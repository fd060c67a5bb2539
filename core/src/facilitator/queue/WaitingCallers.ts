/**
 * Callers that wait for the end of a payment. A lane's worker in this process passes them each record that it has just written, so that
 * they need not read it; a signal says that another process may have written, and makes them read the store. Signals may be lost: a
 * caller that has waited for long reads without one.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"

import type { StoredPayment } from "../store/PaymentStore.ts"
import type { Signals } from "../store/Signals.ts"

/**
 * An update of a payment since the last one: its record as written, or `undefined` if the store has to be read.
 */
export type Update = StoredPayment | undefined

/** The waiting callers of this process. */
export interface WaitingCallers {
  /** Runs `use` while updates of the payment are kept for it; `next` completes with the last one. */
  readonly during: <A, E, R>(
    paymentId: string,
    use: (next: Effect.Effect<Update>) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, R>
  /** Passes on records that were written just now. */
  readonly notify: (records: ReadonlyArray<StoredPayment>) => void
}

/** The delay after a signal: most signals come from a worker in this process, which passes on the record itself at once. */
const signalPause = Duration.millis(5)
/** A caller that has waited between once and twice this time reads the store without a signal. */
const longPause = Duration.seconds(1)

/** One waiting caller. */
interface Waiter {
  /** The last update that came while the caller did not wait for one. */
  kept: { readonly update: Update } | undefined
  wake: ((update: Update) => void) | undefined
  /** It was waiting when the last round of long-waiting callers began. */
  isOld: boolean
}

/** Begins without waiting callers, and wakes those that come while the scope lasts. */
export const make = Effect.fnUntraced(function* (
  signals: Signals
): Effect.fn.Return<WaitingCallers, never, Scope.Scope> {
  const waiting = new Map<string, Set<Waiter>>()
  const signalled = new Set<Waiter>()
  const latch = Latch.makeUnsafe()
  const followSignals = Effect.gen(function* () {
    yield* latch.await
    yield* Effect.sleep(signalPause)
    latch.closeUnsafe()
    const all = [...signalled]
    signalled.clear()
    for (const waiter of all) give(waiter, undefined)
  })
  const wakeLongWaiting = Effect.map(Effect.sleep(longPause), () => {
    const all = [...waiting.values()].flatMap((waiters) => Array.from(waiters))
    for (const waiter of all) {
      if (waiter.isOld) give(waiter, undefined)
      else waiter.isOld = true
    }
  })
  yield* Effect.forkScoped(Effect.forever(followSignals))
  yield* Effect.forkScoped(Effect.forever(wakeLongWaiting))

  const join = (paymentId: string) => {
    const waiter: Waiter = { kept: undefined, wake: undefined, isOld: false }
    const waiters = waiting.get(paymentId) ?? new Set()
    waiting.set(paymentId, waiters.add(waiter))
    const stop = signals.subscribe(paymentId, () => {
      signalled.add(waiter)
      latch.openUnsafe()
    })
    return { waiter, stop }
  }
  const leave = (paymentId: string, waiter: Waiter) => {
    const waiters = waiting.get(paymentId)
    waiters?.delete(waiter)
    if (waiters?.size === 0) waiting.delete(paymentId)
    signalled.delete(waiter)
  }
  return {
    during: (paymentId, use) =>
      Effect.acquireUseRelease(
        Effect.sync(() => join(paymentId)),
        ({ waiter }) => use(next(waiter)),
        ({ stop, waiter }) =>
          Effect.sync(() => {
            stop()
            leave(paymentId, waiter)
          })
      ),
    notify: (records) => {
      for (const record of records) {
        for (const waiter of waiting.get(record.paymentId) ?? []) {
          signalled.delete(waiter)
          give(waiter, record)
        }
      }
    }
  }
})

const give = (waiter: Waiter, update: Update): void => {
  if (waiter.wake === undefined) waiter.kept = { update }
  else waiter.wake(update)
}

const next = (waiter: Waiter): Effect.Effect<Update> =>
  Effect.callback<Update>((resume) => {
    const wake = (update: Update) => {
      waiter.kept = undefined
      waiter.wake = undefined
      waiter.isOld = false
      resume(Effect.succeed(update))
    }
    if (waiter.kept !== undefined) return wake(waiter.kept.update)
    waiter.wake = wake
    return Effect.sync(() => {
      waiter.wake = undefined
    })
  })
