/**
 * A journal in a file, for payers that may crash: what was signed is on the disk before it is sent, and after a start the
 * payments whose outcome is not known are known again. One JSON line an entry; one process at a time.
 */
import { open, readFile, rename, rm, type FileHandle } from "node:fs/promises"
import { dirname, resolve } from "node:path"

import { JournalEntry, PaymentJournal } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"

import * as FileLock from "./FileLock.ts"

/**
 * A journal that holds a file until it is closed.
 *
 * @category models
 */
export interface FileJournal {
  readonly journal: PaymentJournal.PaymentJournal["Service"]
  readonly close: () => Promise<void>
}

/**
 * Opens a journal in a file, which is made where there is none. Rejects with `JournalUnavailable` where another process
 * uses it, or it cannot be read.
 *
 * @category constructors
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

/**
 * A journal in a file as a layer.
 *
 * @category layers
 */
export const layerFile = (
  path: string
): Layer.Layer<PaymentJournal.PaymentJournal, PaymentJournal.JournalUnavailable> =>
  Layer.effect(PaymentJournal.PaymentJournal, Effect.map(log(path), PaymentJournal.make))

/** So many lines are appended before the file is written anew without those that no longer matter. */
const linesBetweenRewrites = 10_000

interface File {
  readonly path: string
  readonly handle: FileHandle
  /** The length up to which the file is whole. */
  readonly size: number
}

/**
 * A log in a file, held while the scope lasts.
 *
 * @category constructors
 */
export const log = Effect.fnUntraced(function* (
  given: string
): Effect.fn.Return<PaymentJournal.JournalLog, PaymentJournal.JournalUnavailable, Scope.Scope> {
  const path = resolve(given)
  const lock = yield* FileLock.take(`${path}.lock`)
  const latest = new Map<string, JournalEntry>()
  for (const entry of yield* load(path)) latest.set(entry.id, entry)
  let file = yield* rewrite(path, latest)
  yield* Effect.addFinalizer(() => Effect.promise(() => file.handle.close()))
  let news: ReadonlyArray<JournalEntry> = [...latest.values()]
  let appended = 0
  const append = Effect.fnUntraced(function* (lines: ReadonlyArray<JournalEntry>) {
    if (!(yield* lock.isHeld)) return yield* unavailable(path, "is no longer locked by this process; open it again")
    file = yield* write(file, lines)
    appended += lines.length
    for (const line of lines) latest.set(line.id, line)
    if (appended < linesBetweenRewrites) return
    appended = 0
    const before = file
    // The lines are on the disk already; where the file cannot be written anew it goes on growing.
    file = yield* Effect.catch(rewrite(path, latest), () => Effect.succeed(before))
    if (file !== before) yield* Effect.promise(() => before.handle.close())
  })
  const alone = Semaphore.makeUnsafe(1)
  return {
    transact: (step) =>
      Effect.gen(function* () {
        const [result, lines] = step(news)
        news = []
        // A reservation is of this process alone: nothing was signed for it, so a crash may forget it.
        const lasting = lines.filter(({ state }) => state !== "reserved")
        if (lasting.length > 0) yield* append(lasting)
        news = lines
        return result
      }).pipe(Effect.uninterruptible, alone.withPermits(1))
  }
})

const decode = Schema.decodeUnknownResult(Schema.fromJsonString(JournalEntry))

/** The entries of a file. Its last line may be broken off by a crash; any other broken line is not explained by one. */
const load = Effect.fnUntraced(function* (path: string) {
  const text = yield* attempt(path, "cannot be read", () =>
    readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return ""
      throw error
    })
  )
  const lines = text.split("\n").slice(0, -1)
  const entries: Array<JournalEntry> = []
  for (const [index, line] of lines.entries()) {
    const entry = decode(line)
    if (Result.isFailure(entry)) {
      return yield* unavailable(
        path,
        `is damaged at line ${index + 1}; payments that it knew of may still be in flight`
      )
    }
    entries.push(entry.success)
  }
  return entries
})

/**
 * Writes the file anew with what still matters. The old one is there until the new one is whole, and the handle is the new
 * one's before it takes the old one's place, so nothing can be appended to a file that is gone.
 */
const rewrite = Effect.fnUntraced(function* (path: string, latest: Map<string, JournalEntry>) {
  const oldest = (yield* Clock.currentTimeMillis) - PaymentJournal.retention
  for (const { at, id, state } of latest.values()) if (at <= oldest || state === "released") latest.delete(id)
  const text = textOf([...latest.values()])
  return yield* attempt(path, "cannot be written", async (): Promise<File> => {
    await rm(`${path}.new`, { force: true })
    const handle = await open(`${path}.new`, "ax", 0o600)
    try {
      await handle.appendFile(text)
      await handle.sync()
      await rename(`${path}.new`, path)
      await syncDirectory(dirname(path))
    } catch (error) {
      await handle.close()
      throw error
    }
    return { path, handle, size: Buffer.byteLength(text) }
  })
})

/** Makes a renaming last through a power cut. Windows has no such thing for directories. */
const syncDirectory = async (path: string): Promise<void> => {
  if (process.platform === "win32") return
  const directory = await open(path, "r")
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/** Appends lines and waits for the disk. What a failed attempt left behind is cut off first. */
const write = ({ handle, path, size }: File, lines: ReadonlyArray<JournalEntry>) => {
  const text = textOf(lines)
  return attempt(path, "cannot be written", async (): Promise<File> => {
    const { size: found } = await handle.stat()
    if (found !== size) await handle.truncate(size)
    await handle.appendFile(text)
    await handle.datasync()
    return { path, handle, size: size + Buffer.byteLength(text) }
  })
}

const textOf = (entries: ReadonlyArray<JournalEntry>): string =>
  entries.map((entry) => `${JSON.stringify(entry)}\n`).join("")

const attempt = <A>(path: string, what: string, run: () => Promise<A>) =>
  Effect.tryPromise({
    try: run,
    catch: (cause) => new PaymentJournal.JournalUnavailable({ message: `the journal ${path} ${what}`, cause })
  })

const unavailable = (path: string, what: string) =>
  Effect.fail(new PaymentJournal.JournalUnavailable({ message: `the journal ${path} ${what}` }))
