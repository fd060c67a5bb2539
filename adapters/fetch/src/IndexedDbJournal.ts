/**
 * A journal in a browser's IndexedDB, shared by all tabs of an origin: every step of the journal is one transaction of
 * the database, which reads the lines that other tabs have appended, decides, and appends.
 */
import { type ChannelEntry, journalLine, PaymentJournal, Shape } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Semaphore from "effect/Semaphore"

import * as BrowserDatabase from "./BrowserDatabase.ts"
import * as LeaseMarks from "./LeaseMarks.ts"
import * as WebLockMarks from "./WebLockMarks.ts"

/**
 * A journal in the database of this name. Web Locks mark the payments that a tab is sending; in a browser without them,
 * leases in a second database, `<name>.leases`.
 */
export const indexedDbJournal = (
  name = "pontage",
  factory: IDBFactory = globalThis.indexedDB,
  marks: PaymentJournal.PendingMarks = marksOf(name, factory)
): PaymentJournal.PaymentJournal["Service"] => PaymentJournal.make({ ...log(name, factory), marks })

/** The same as a layer. */
export const layerIndexedDb = (name?: string): Layer.Layer<PaymentJournal.PaymentJournal> =>
  Layer.sync(PaymentJournal.PaymentJournal, () => indexedDbJournal(name))

/** The browser's locks; types say that all browsers have them, but insecure pages and browsers before 2022 do not. */
const marksOf = (name: string, factory: IDBFactory): PaymentJournal.PendingMarks => {
  const { navigator }: { readonly navigator?: { readonly locks?: LockManager } } = globalThis
  return navigator?.locks === undefined ? LeaseMarks.make(name, factory) : WebLockMarks.make(name, navigator.locks)
}

/** A stored line: its number gives the order in which all tabs have appended. */
interface Line {
  readonly number: number
  readonly entry: ChannelEntry.JournalLine
}

const lineList = /* @__PURE__ */ Shape.list(
  /* @__PURE__ */ Shape.struct<Line>({ number: Shape.int, entry: journalLine })
)

type Step<A> = (news: ReadonlyArray<ChannelEntry.JournalLine>) => readonly [A, ReadonlyArray<ChannelEntry.JournalLine>]

interface Transacted<A> {
  readonly result: A
  /** The number of the last line that was read. */
  readonly last: number
}

const log = (name: string, factory: IDBFactory): PaymentJournal.JournalLog => {
  const database = BrowserDatabase.make(factory, name, { keyPath: "number", autoIncrement: true })
  /**
   * Number of the last line read, by connection: through a new one all are read again. The database may have been
   * cleared meanwhile, and then its numbers begin anew.
   */
  const seenBy = new WeakMap<IDBDatabase, number>()
  const alone = Semaphore.makeUnsafe(1)
  return {
    transact: <A>(step: Step<A>) =>
      Effect.gen(function* () {
        const oldest = (yield* Clock.currentTimeMillis) - PaymentJournal.retention
        const take = async (transaction: IDBTransaction, entries: IDBObjectStore) => {
          const seen = seenBy.get(transaction.db) ?? 0
          const { last, result } = await transact(transaction, entries, { seen, oldest }, step)
          seenBy.set(transaction.db, last)
          return result
        }
        return yield* Effect.tryPromise({
          try: () => database.transact(take),
          catch: (cause) =>
            new PaymentJournal.JournalUnavailable({
              message: `the journal in IndexedDB "${name}" cannot be used`,
              cause
            })
        })
      }).pipe(Effect.uninterruptible, alone.withPermits(1))
  }
}

/**
 * Runs the step in the response to the transaction's one request, because a transaction lives only from event to event.
 */
const transact = <A>(
  transaction: IDBTransaction,
  entries: IDBObjectStore,
  { oldest, seen }: { readonly oldest: number; readonly seen: number },
  step: Step<A>
): Promise<Transacted<A>> =>
  new Promise((resolve, reject) => {
    const question = entries.getAll(IDBKeyRange.lowerBound(seen, true))
    let answer: Transacted<A> | undefined
    let problem: unknown
    question.addEventListener("success", () => {
      const lines = Shape.read(lineList, question.result)
      if (Result.isFailure(lines)) {
        problem = new TypeError(lines.failure)
        return transaction.abort()
      }
      const [result, added] = step(lines.success.map(({ entry }) => entry))
      const old = seen === 0 ? oldestLines(lines.success, oldest) : undefined
      if (old !== undefined) {
        entries.delete(IDBKeyRange.upperBound(old))
        for (const entry of lastingLines(lines.success, old, oldest)) entries.add({ entry })
      }
      for (const entry of added) entries.add({ entry })
      answer = { result, last: lines.success.at(-1)?.number ?? seen }
    })
    transaction.addEventListener("complete", () => (answer === undefined ? reject(problem) : resolve(answer)))
    transaction.addEventListener("abort", () => reject(problem ?? transaction.error))
  })

/** The lines up to this number that no later line replaces, and that still matter: channels, and streams whose last voucher is younger. */
const lastingLines = (
  lines: ReadonlyArray<Line>,
  old: number,
  oldest: number
): ReadonlyArray<ChannelEntry.JournalLine> => {
  const latest = new Map(lines.map(({ entry, number }) => [entry.id, { entry, number }]))
  return [...latest.values()]
    .filter(({ entry, number }) => number <= old && !PaymentJournal.isObsolete(entry, oldest))
    .map(({ entry }) => entry)
}

/** The number up to which all lines are too old to matter. */
const oldestLines = (lines: ReadonlyArray<Line>, oldest: number): number | undefined => {
  const firstYoung = lines.findIndex(({ entry }) => entry.at > oldest)
  return lines[(firstYoung === -1 ? lines.length : firstYoung) - 1]?.number
}
