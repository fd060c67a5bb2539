/**
 * The payer's journal: one logical request has one authorization. Spending is checked and reserved in one step; an
 * authorization is written before it is sent; and while its outcome is unknown a repetition of the request sends the
 * same authorization again. A sent authorization counts as spent until it is proven to cost nothing: a server that
 * settles in secret and denies it gains nothing.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"

import { afterLine, type ChannelEntry, isChannel, type JournalLine } from "./ChannelEntry.ts"
import { after, type JournalEntry } from "./JournalEntry.ts"
import * as JournalLedger from "./JournalLedger.ts"
import type { PaymentDeclined } from "./PaymentDeclined.ts"
import type { SpentSoFar } from "./PaymentPolicy.ts"

/** The journal could not be read or written, so nothing was signed or sent. `message` names the place and the fix. */
export class JournalUnavailable extends Data.TaggedError("JournalUnavailable")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/** Merges two lines of one id, for logs that keep only the last line. */
export const merged = (known: JournalLine | undefined, next: JournalLine): JournalLine => {
  if (isChannel(next)) return afterLine(known !== undefined && isChannel(known) ? known : undefined, next)
  return after(known === undefined || isChannel(known) ? undefined : known, next)
}

/** The lines that a log may forget at `now`: old purchases, and never a channel or a top-up that is under way. */
export const isObsolete = (line: JournalLine, oldest: number): boolean =>
  !isChannel(line) &&
  (line.state === "released" || (JournalLedger.isOld(line, oldest) && !JournalLedger.isTopUpUnderway(line)))

/** Milliseconds from its reservation for which a journal keeps an entry; older lines of a log may be forgotten. */
export const retention = JournalLedger.retention

/**
 * Marks on the entries that are being sent now, for a log that several tabs share. A mark ends with the tab that has
 * it. It keeps two tabs from waiting for the response to one payment; if it fails, the entries' states still keep one
 * tab's refusal from hiding what another was served.
 */
export interface PendingMarks {
  /** Whether this tab has the mark now; false while another tab is sending the entry. May wait until that is known. */
  readonly take: (id: string) => Effect.Effect<boolean, JournalUnavailable>
  readonly letGo: (id: string) => Effect.Effect<void>
}

/**
 * The store of a journal's lines: an append-only list of purchases and channels in which the last line of an id counts, as
 * far as it may follow the one before (`merged`).
 */
export interface JournalLog {
  /** Absent if only one process uses the log. */
  readonly marks?: PendingMarks
  /**
   * One exclusive step: `step` receives all lines that were appended since the last step (by this process too, and by
   * others if the log is shared) and returns its result and its own lines. They are durable when the effect succeeds; a
   * step of which nothing became durable has not happened.
   */
  readonly transact: <A>(
    step: (appended: ReadonlyArray<JournalLine>) => readonly [result: A, lines: ReadonlyArray<JournalLine>]
  ) => Effect.Effect<A, JournalUnavailable>
}

/** The payer's books in one step of the journal. */
export interface JournalBooks {
  readonly channels: ReadonlyMap<string, ChannelEntry>
  readonly spent: SpentSoFar
  /** The oldest purchase of this logical request that is under way. */
  readonly open: (request: string, now: number) => JournalEntry | undefined
}

/**
 * The service. An entry that `adopt` or `reserve` returns is held by that call alone until `letGo`; a concurrent
 * identical request is another purchase.
 */
export class PaymentJournal extends Context.Service<
  PaymentJournal,
  {
    /** The authorization that a repetition of this logical request sends again, if any; held from now on. */
    readonly adopt: (request: string) => Effect.Effect<JournalEntry | undefined, JournalUnavailable>
    /** A payment for a refused request that is good for a request which it must fit, if any; held from now on. */
    readonly adoptRefused: (
      fits: (entry: JournalEntry) => boolean
    ) => Effect.Effect<JournalEntry | undefined, JournalUnavailable>
    /** Checks the totals and sets the entry's spendings aside, in one step; held from now on. */
    readonly reserve: (
      entry: JournalEntry,
      exceeds: (spent: SpentSoFar) => PaymentDeclined | undefined
    ) => Effect.Effect<void, PaymentDeclined | JournalUnavailable>
    /**
     * Writes the entry, durable when this succeeds, and returns the current entry: a more certain line of another tab
     * is kept.
     */
    readonly write: (entry: JournalEntry) => Effect.Effect<JournalEntry, JournalUnavailable>
    /**
     * One step about a payment through a channel: `change` sees the books and returns its result and the lines to write, which
     * are durable when this succeeds. The entry of this id is held from now on.
     */
    readonly draw: <A>(
      id: string,
      change: (books: JournalBooks) => Result.Result<readonly [A, ReadonlyArray<JournalLine>], PaymentDeclined>
    ) => Effect.Effect<A, PaymentDeclined | JournalUnavailable>
    /** The marks of the log: a channel is marked while a payment through it is under way. */
    readonly marks: PendingMarks
    /** The payer's channels, by their ids. */
    readonly channels: Effect.Effect<ReadonlyMap<string, ChannelEntry>, JournalUnavailable>
    readonly letGo: (id: string) => Effect.Effect<void>
    /**
     * Whether a purchase of this logical request is under way: its payment is being signed, is without a known outcome, was
     * refused and has not expired, or is owed a response. Holds nothing.
     */
    readonly isOpen: (request: string) => Effect.Effect<boolean, JournalUnavailable>
    /** The oldest entry of this logical request that is under way, held or not. */
    readonly open: (request: string) => Effect.Effect<JournalEntry | undefined, JournalUnavailable>
    /** The amount of an asset that payments which are signed, or are being signed, may still take from the payer. */
    readonly committed: (asset: Pick<JournalEntry, "network" | "asset">) => Effect.Effect<bigint, JournalUnavailable>
    readonly find: (paymentId: string) => Effect.Effect<JournalEntry | undefined, JournalUnavailable>
    /** The current totals; for quotes, which reserve nothing. */
    readonly spent: Effect.Effect<SpentSoFar, JournalUnavailable>
  }
>()("@pontage/core/PaymentJournal") {}

/** A journal over a log. */
export const make = (log: JournalLog): PaymentJournal["Service"] => {
  const ledger = JournalLedger.make()
  const { hold, isHeld, letGo, marks } = holding(log.marks ?? noMarks)
  const step = <A>(change: (now: number) => readonly [A, ReadonlyArray<JournalLine>]) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      log.transact((appended) => {
        appended.forEach(ledger.take)
        ledger.prune(now)
        return change(now)
      })
    )
  const read = <A>(look: (now: number) => A) => step((now) => [look(now), []])
  const adopt = (
    search: (now: number, isPassed: (id: string) => boolean) => JournalEntry | undefined,
    isStillRight: (entry: JournalEntry, now: number) => boolean
  ) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const passed = new Set<string>()
        while (true) {
          const id = yield* read((now) => search(now, (id) => isHeld(id) || passed.has(id))?.id)
          if (id === undefined) return undefined
          passed.add(id)
          if (!(yield* hold(id, restore(marks.take(id))))) continue
          // It may have ended while its mark was requested, and then there is nothing left to send.
          const standing = yield* Effect.onError(
            read((now) => {
              const entry = ledger.find(id)
              return entry !== undefined && isStillRight(entry, now) ? entry : undefined
            }),
            () => letGo(id)
          )
          if (standing !== undefined) return standing
          yield* letGo(id)
        }
      })
    )
  const reserve = (entry: JournalEntry, exceeds: (spent: SpentSoFar) => PaymentDeclined | undefined) =>
    step(() => reservation(entry, exceeds(ledger.spent))).pipe(
      Effect.flatMap((declined) => (declined === undefined ? Effect.void : Effect.fail(declined)))
    )
  return {
    adopt: (request) =>
      adopt(
        (now, isPassed) => ledger.resumable(request, now, isPassed),
        (entry, now) => entry.request === request && JournalLedger.isResumable(entry, now)
      ),
    adoptRefused: (fits) =>
      adopt(
        (now, isPassed) => ledger.reusable(fits, now, isPassed),
        (entry, now) => JournalLedger.isReusable(entry, now) && fits(entry)
      ),
    reserve: (entry, exceeds) =>
      Effect.andThen(
        hold(entry.id),
        Effect.onError(reserve(entry, exceeds), () => letGo(entry.id))
      ),
    write: (given) =>
      step(() => {
        const known = ledger.find(given.id)
        const entry = after(known, given)
        return [entry, entry === known ? [] : [entry]]
      }),
    draw: (id, change) => {
      const drawn = step(() => withLines(change(ledger)))
      return Effect.flatMap(Effect.andThen(hold(id), drawn), (changed) =>
        Effect.fromResult(Result.map(changed, ([result]) => result))
      )
    },
    marks,
    channels: read(() => ledger.channels),
    letGo,
    isOpen: (request) => read((now) => ledger.open(request, now) !== undefined),
    open: (request) => read((now) => ledger.open(request, now)),
    committed: (asset) => read((now) => ledger.committed(asset, now)),
    find: (paymentId) => read(() => ledger.findPayment(paymentId)),
    spent: read(() => ledger.spent)
  }
}

const withLines = <A>(changed: Result.Result<readonly [A, ReadonlyArray<JournalLine>], PaymentDeclined>) =>
  [changed, Result.isSuccess(changed) ? changed.success[1] : []] as const

const reservation = (
  entry: JournalEntry,
  declined: PaymentDeclined | undefined
): readonly [PaymentDeclined | undefined, ReadonlyArray<JournalEntry>] => [
  declined,
  declined === undefined ? [entry] : []
]

/** The entries that calls of this tab are sending, and their marks for the other tabs. */
const holding = (marks: PendingMarks) => {
  const held = new Set<string>()
  const letGo = (id: string) => Effect.suspend(() => (held.delete(id) ? marks.letGo(id) : Effect.void))
  /** Holds an entry: in this tab at once, so that no other call takes it while the mark is requested. */
  const hold = (id: string, asking = marks.take(id)) =>
    Effect.suspend(() => {
      if (held.has(id)) return Effect.succeed(false)
      held.add(id)
      return asking.pipe(
        Effect.onExit((exit) =>
          Effect.sync(() => {
            if (!Exit.isSuccess(exit) || !exit.value) held.delete(id)
          })
        )
      )
    })
  return { hold, isHeld: (id: string) => held.has(id), letGo, marks }
}

const noMarks: PendingMarks = { take: () => Effect.succeed(true), letGo: () => Effect.void }

/**
 * A log that lives as long as this process. With the process it forgets payments that may still be pending: use a
 * journal on a disk if that matters.
 */
export const memoryLog = (): JournalLog => {
  let appended: ReadonlyArray<JournalLine> = []
  return {
    transact: (step) =>
      Effect.sync(() => {
        const [result, lines] = step(appended)
        appended = lines
        return result
      })
  }
}

/** A journal in memory. */
export const layerMemory: Layer.Layer<PaymentJournal> = /* @__PURE__ */ Layer.sync(PaymentJournal, () =>
  make(memoryLog())
)
