/**
 * A journal in a file, for payers that may crash: an authorization is on the disk before it is sent, and after a
 * restart the payments of unknown outcome are known again. One JSON line per entry; one process at a time.
 */
import { ChannelEntry, PaymentJournal } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"

import * as FileLock from "./FileLock.ts"
import * as JournalFile from "./JournalFile.ts"

/** A journal that holds its file until it is closed. */
export interface FileJournal {
  readonly journal: PaymentJournal.PaymentJournal["Service"]
  readonly close: () => Promise<void>
}

/**
 * Opens a journal in a file, which is made if it is missing. Rejects with `JournalUnavailable` if another process uses
 * it, or it cannot be read.
 */
export const fileJournal = (path: string): Promise<FileJournal> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const close = Scope.close(scope, Exit.void)
      const opened = yield* log(path).pipe(
        Effect.provideService(Scope.Scope, scope),
        Effect.onError(() => close)
      )
      return { journal: PaymentJournal.make(opened), close: () => Effect.runPromise(close) }
    })
  )

/** A journal in a file as a layer. */
export const layerFile = (
  path: string
): Layer.Layer<PaymentJournal.PaymentJournal, PaymentJournal.JournalUnavailable> =>
  Layer.effect(PaymentJournal.PaymentJournal, Effect.map(log(path), PaymentJournal.make))

/** Lines or bytes after which the file is rewritten, unless the live entries alone take more. */
const linesBetweenRewrites = 10_000
const bytesBetweenRewrites = 16 * 1024 * 1024

/** A log in a file, held until the scope closes. */
export const log = Effect.fnUntraced(function* (
  given: string
): Effect.fn.Return<PaymentJournal.JournalLog, PaymentJournal.JournalUnavailable, Scope.Scope> {
  const path = yield* attempt(given, "cannot be found", () => JournalFile.pathOf(given))
  const lock = yield* FileLock.take(`${path}.lock`)
  const latest: JournalFile.Latest = new Map()
  const now = yield* Clock.currentTimeMillis
  const takeOver = attempt(path, "cannot be taken over", () => JournalFile.takeOver(path, lock, latest, now))
  const held = yield* Effect.acquireRelease(
    Effect.map(takeOver, (file) => ({ file })),
    ({ file }) => Effect.promise(() => file.handle.close())
  )
  let news: ReadonlyArray<ChannelEntry.JournalLine> = [...latest.values()]
  let appended = 0
  const append = Effect.fnUntraced(function* (lines: ReadonlyArray<ChannelEntry.JournalLine>) {
    held.file = yield* attempt(path, "cannot be written", () => JournalFile.append(held.file, lines))
    appended += lines.length
    for (const line of lines) latest.set(line.id, PaymentJournal.merged(latest.get(line.id), line))
  })
  const isDue = () =>
    appended > Math.max(linesBetweenRewrites, latest.size) ||
    held.file.size - held.file.begun > Math.max(bytesBetweenRewrites, held.file.begun)
  const rewrite = Effect.fnUntraced(function* () {
    const before = held.file
    const now = yield* Clock.currentTimeMillis
    held.file = yield* attempt(path, "cannot be written anew", () => JournalFile.writeAnew(path, lock, latest, now))
    appended = 0
    yield* Effect.promise(() => before.handle.close())
  })
  const postpone = () => {
    appended = 0
    held.file = { ...held.file, begun: held.file.size }
  }
  const alone = Semaphore.makeUnsafe(1)
  return {
    transact: (step) =>
      Effect.gen(function* () {
        const [result, lines] = step(news)
        news = []
        // A reservation belongs to this process alone: nothing was signed for it, so a crash may forget it.
        const lasting = lines.filter((line) => ChannelEntry.isChannel(line) || line.state !== "reserved")
        if (lasting.length > 0) yield* append(lasting)
        news = lines
        // The lines are on the disk: a later failure only leaves the file longer, and the step has happened.
        if (isDue()) yield* Effect.catchCause(rewrite(), () => Effect.sync(postpone))
        return result
      }).pipe(Effect.uninterruptible, alone.withPermits(1))
  }
})

const attempt = <A>(path: string, what: string, run: () => Promise<A>) =>
  Effect.tryPromise({
    try: run,
    catch: (cause) =>
      cause instanceof PaymentJournal.JournalUnavailable
        ? cause
        : new PaymentJournal.JournalUnavailable({ message: `the journal ${path} ${what}`, cause })
  })
