/**
 * The payer's journal: one logical request has one authorization. Spending is checked and reserved in one step; what was
 * signed is written down before it is sent; and while its outcome is unknown a repetition of the request sends the same
 * authorization again. What was sent counts as spent until it is proven to cost nothing: a server that settles in secret
 * and denies it gains nothing by it.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import type { JournalEntry } from "./JournalEntry.ts"
import * as JournalLedger from "./JournalLedger.ts"
import type { PaymentDeclined } from "./PaymentDeclined.ts"
import type { SpentSoFar } from "./PaymentPolicy.ts"

/**
 * The journal could not be read or written, so nothing was signed or sent. `message` names the place and the mend.
 *
 * @category errors
 */
export class JournalUnavailable extends Data.TaggedError("JournalUnavailable")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/**
 * How long a journal keeps an entry, in milliseconds from its reservation; older lines of a log may be forgotten.
 *
 * @category constants
 */
export const retention = JournalLedger.retention

/**
 * Where a journal's lines are kept: an append-only list of entries in which the last line of an id holds.
 *
 * @category models
 */
export interface JournalLog {
  /**
   * One step, alone: `step` is given all lines that were appended since the last step (by this process too, and by others
   * where the log is shared) and answers with its result and its own lines. They are durable when the effect succeeds; a
   * step of which nothing became durable has not happened.
   */
  readonly transact: <A>(
    step: (news: ReadonlyArray<JournalEntry>) => readonly [result: A, lines: ReadonlyArray<JournalEntry>]
  ) => Effect.Effect<A, JournalUnavailable>
}

/**
 * The service. An entry that `adopt` or `reserve` hands out is held by that call alone until `letGo`; a concurrent
 * identical request is another purchase.
 *
 * @category services
 */
export class PaymentJournal extends Context.Service<
  PaymentJournal,
  {
    /** The authorization that a repetition of this logical request sends again, if there is one; held from now on. */
    readonly adopt: (request: string) => Effect.Effect<JournalEntry | undefined, JournalUnavailable>
    /** Checks the totals and sets the entry's spendings aside, in one step; held from now on. */
    readonly reserve: (
      entry: JournalEntry,
      exceeds: (spent: SpentSoFar) => PaymentDeclined | undefined
    ) => Effect.Effect<void, PaymentDeclined | JournalUnavailable>
    /** The entry as it now stands; durable when this succeeds. */
    readonly write: (entry: JournalEntry) => Effect.Effect<void, JournalUnavailable>
    readonly letGo: (id: string) => Effect.Effect<void>
    readonly find: (paymentId: string) => Effect.Effect<JournalEntry | undefined, JournalUnavailable>
    /** The totals as they are now; for quotes, which reserve nothing. */
    readonly spent: Effect.Effect<SpentSoFar, JournalUnavailable>
  }
>()("@pontage/core/PaymentJournal") {}

/**
 * A journal over a log.
 *
 * @category constructors
 */
export const make = (log: JournalLog): PaymentJournal["Service"] => {
  const ledger = JournalLedger.make()
  const held = new Set<string>()
  const step = <A>(change: (now: number) => readonly [A, ReadonlyArray<JournalEntry>]) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      log.transact((news) => {
        news.forEach(ledger.put)
        ledger.prune(now)
        return change(now)
      })
    )
  const read = <A>(look: (now: number) => A) => step((now) => [look(now), []])
  return {
    adopt: (request) =>
      Effect.suspend(() => {
        let adopted: string | undefined
        return read((now) => {
          const entry = ledger.resumable(request, now, (id) => held.has(id))
          if (entry !== undefined) held.add((adopted = entry.id))
          return entry
        }).pipe(Effect.onError(() => Effect.sync(() => adopted !== undefined && held.delete(adopted))))
      }),
    reserve: (entry, exceeds) =>
      step((): readonly [PaymentDeclined | undefined, ReadonlyArray<JournalEntry>] => {
        const declined = exceeds(ledger.spent)
        return declined === undefined ? [undefined, [entry]] : [declined, []]
      }).pipe(
        Effect.flatMap((declined) =>
          declined === undefined ? Effect.sync(() => void held.add(entry.id)) : Effect.fail(declined)
        )
      ),
    write: (entry) => step(() => [undefined, [entry]]),
    letGo: (id) => Effect.sync(() => void held.delete(id)),
    find: (paymentId) => read(() => ledger.findPayment(paymentId)),
    spent: read(() => ledger.spent)
  }
}

/**
 * A log that lives as long as this process. What it forgets with the process is what may still be in flight: keep a
 * journal on a disk where that matters.
 *
 * @category constructors
 */
export const memoryLog = (): JournalLog => {
  let appended: ReadonlyArray<JournalEntry> = []
  return {
    transact: (step) =>
      Effect.sync(() => {
        const [result, lines] = step(appended)
        appended = lines
        return result
      })
  }
}

/**
 * A journal in memory.
 *
 * @category layers
 */
export const layerMemory: Layer.Layer<PaymentJournal> = /* @__PURE__ */ Layer.sync(PaymentJournal, () =>
  make(memoryLog())
)
