/**
 * Payments whose callers wait for an end. A lane's worker in this process tells them of what it has just written down, so
 * that nobody has to read it again; a hint says that somebody else may have written, and sends them to the records. Hints
 * may be lost: who has waited for long looks without one.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"

import type { StoredPayment } from "../store/PaymentStore.ts"
import type { Signals } from "../store/Signals.ts"

/**
 * News of a payment since it was last asked for: its record as it was written down, or `undefined` when the records have
 * to be looked into.
 */
export type Update = StoredPayment | undefined

/** The payments. */
export interface WaitingCallers {
  /** Runs `use` while news of the payment is kept for it; `next` completes with it. */
  readonly during: <A, E, R>(
    paymentId: string,
    use: (next: Effect.Effect<Update>) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, R>
  /** Tells of records that were written just now. */
  readonly notify: (records: ReadonlyArray<StoredPayment>) => void
}

/** After a hint: mostly it is of what a worker in this process has written, who tells the record itself in no time. */
const hintPause = Duration.millis(5)
/** Who has waited as long as this, and at most twice, looks without a hint. */
const longPause = Duration.seconds(1)

/** Somebody who waits. */
interface Waiter {
  /** What came while nobody asked. */
  kept: { readonly update: Update } | undefined
  wake: ((update: Update) => void) | undefined
  /** There already when the last round began of those who wait for long. */
  old: boolean
}

/** Nobody waits yet. In the scope, those who wait are woken. */
export const make = Effect.fnUntraced(function* (
  signals: Signals
): Effect.fn.Return<WaitingCallers, never, Scope.Scope> {
  const waitingCallers = new Map<string, Set<Waiter>>()
  const hinted = new Set<Waiter>()
  const bell = Latch.makeUnsafe()
  const followHints = Effect.gen(function* () {
    yield* bell.await
    yield* Effect.sleep(hintPause)
    bell.closeUnsafe()
    const all = [...hinted]
    hinted.clear()
    for (const waiter of all) give(waiter, undefined)
  })
  const wakeOld = Effect.map(Effect.sleep(longPause), () => {
    const all = [...waitingCallers.values()].flatMap((waiters) => Array.from(waiters))
    for (const waiter of all) {
      if (waiter.old) give(waiter, undefined)
      else waiter.old = true
    }
  })
  yield* Effect.forkScoped(Effect.forever(followHints))
  yield* Effect.forkScoped(Effect.forever(wakeOld))

  const record = (paymentId: string) => {
    const waiter: Waiter = { kept: undefined, wake: undefined, old: false }
    const waiters = waitingCallers.get(paymentId) ?? new Set()
    waitingCallers.set(paymentId, waiters.add(waiter))
    const stop = signals.subscribe(paymentId, () => {
      hinted.add(waiter)
      bell.openUnsafe()
    })
    return { waiter, stop }
  }
  const leave = (paymentId: string, waiter: Waiter) => {
    const waiters = waitingCallers.get(paymentId)
    waiters?.delete(waiter)
    if (waiters?.size === 0) waitingCallers.delete(paymentId)
    hinted.delete(waiter)
  }
  return {
    during: (paymentId, use) =>
      Effect.acquireUseRelease(
        Effect.sync(() => record(paymentId)),
        ({ waiter }) => use(next(waiter)),
        ({ stop, waiter }) =>
          Effect.sync(() => {
            stop()
            leave(paymentId, waiter)
          })
      ),
    notify: (records) => {
      for (const record of records) {
        for (const waiter of waitingCallers.get(record.paymentId) ?? []) {
          hinted.delete(waiter)
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
      waiter.old = false
      resume(Effect.succeed(update))
    }
    if (waiter.kept !== undefined) return wake(waiter.kept.update)
    waiter.wake = wake
    return Effect.sync(() => {
      waiter.wake = undefined
    })
  })
