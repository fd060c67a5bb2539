/**
 * A journal in a browser's IndexedDB, shared by all tabs of an origin: every step of the journal is one transaction of the
 * database, which reads what the other tabs have appended, decides, and appends.
 */
import { type JournalEntry, journalEntry, PaymentJournal, Shape } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Semaphore from "effect/Semaphore"

/**
 * A journal in the database of this name.
 *
 * @category constructors
 */
export const indexedDbJournal = (
  name = "pontage",
  factory: IDBFactory = globalThis.indexedDB
): PaymentJournal.PaymentJournal["Service"] => PaymentJournal.make(log(name, factory))

/**
 * The same as a layer.
 *
 * @category layers
 */
export const layerIndexedDb = (name?: string): Layer.Layer<PaymentJournal.PaymentJournal> =>
  Layer.sync(PaymentJournal.PaymentJournal, () => indexedDbJournal(name))

const store = "entries"

/** A line as it is stored: its number gives the order in which all tabs have appended. */
interface Line {
  readonly number: number
  readonly entry: JournalEntry
}

const lineList = /* @__PURE__ */ Shape.list(
  /* @__PURE__ */ Shape.struct<Line>({ number: Shape.int, entry: journalEntry })
)

interface Transacted<A> {
  readonly result: A
  /** The number of the last line that was read. */
  readonly last: number
}

const log = (name: string, factory: IDBFactory): PaymentJournal.JournalLog => {
  let database: Promise<IDBDatabase> | undefined
  let seen = 0
  /** Opened with the first payment, and again where the browser has closed it. */
  const opened = () => {
    database ??= open(factory, name, () => {
      database = undefined
    })
    return database
  }
  const alone = Semaphore.makeUnsafe(1)
  return {
    transact: <A>(step: (news: ReadonlyArray<JournalEntry>) => readonly [A, ReadonlyArray<JournalEntry>]) =>
      Effect.gen(function* () {
        const oldest = (yield* Clock.currentTimeMillis) - PaymentJournal.retention
        const { last, result } = yield* Effect.tryPromise({
          try: async (): Promise<Transacted<A>> => transact(await opened(), { seen, oldest }, step),
          catch: (cause) =>
            new PaymentJournal.JournalUnavailable({
              message: `the journal in IndexedDB "${name}" is not usable`,
              cause
            })
        })
        seen = last
        return result
      }).pipe(Effect.uninterruptible, alone.withPermits(1))
  }
}

/** The transaction lives from event to event, so everything in it happens in the answer to its one question. */
const transact = <A>(
  database: IDBDatabase,
  { oldest, seen }: { readonly oldest: number; readonly seen: number },
  step: (news: ReadonlyArray<JournalEntry>) => readonly [A, ReadonlyArray<JournalEntry>]
): Promise<Transacted<A>> =>
  new Promise((resolve, reject) => {
    const transaction = database.transaction(store, "readwrite", { durability: "strict" })
    const entries = transaction.objectStore(store)
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
      for (const entry of added) entries.add({ entry })
      const old = seen === 0 ? oldestLines(lines.success, oldest) : undefined
      if (old !== undefined) entries.delete(IDBKeyRange.upperBound(old))
      answer = { result, last: lines.success.at(-1)?.number ?? seen }
    })
    transaction.addEventListener("complete", () => (answer === undefined ? reject(problem) : resolve(answer)))
    transaction.addEventListener("abort", () => reject(problem ?? transaction.error))
  })

/** The number up to which all lines are too old to matter. */
const oldestLines = (lines: ReadonlyArray<Line>, oldest: number): number | undefined => {
  const firstYoung = lines.findIndex(({ entry }) => entry.at > oldest)
  return lines[(firstYoung === -1 ? lines.length : firstYoung) - 1]?.number
}

const open = (factory: IDBFactory, name: string, onClosed: () => void): Promise<IDBDatabase> =>
  new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      onClosed()
      reject(error)
    }
    const request = factory.open(name, 1)
    request.addEventListener("upgradeneeded", () =>
      request.result.createObjectStore(store, { keyPath: "number", autoIncrement: true })
    )
    request.addEventListener("error", () => fail(request.error))
    request.addEventListener("success", () => {
      const database = request.result
      database.addEventListener("close", onClosed)
      database.addEventListener("versionchange", () => {
        database.close()
        onClosed()
      })
      resolve(database)
    })
  })
