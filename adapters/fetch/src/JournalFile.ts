/**
 * The file of a journal: lines are appended, and from time to time it is rewritten without obsolete lines.
 *
 * An appended line stays in the journal, also if two processes each believe that the file is theirs: a process that
 * takes it over first removes the drafts of others, so that none of them can put an older file in its place; then it
 * reads, puts its own file in the place, and reads the lines that were appended to the old one meanwhile. A process
 * that appends checks afterwards that the file is still in its place, and otherwise reports that nothing was written.
 */
import { lstat, open, readdir, readlink, realpath, rename, rm, stat, type FileHandle } from "node:fs/promises"
import { basename, dirname, join, resolve } from "node:path"

import { ChannelEntry, PaymentJournal } from "@pontage/core"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import type { FileLock } from "./FileLock.ts"
import * as LineReader from "./LineReader.ts"

/** A file that this process has put in its place, open for appending. */
export interface JournalFile {
  readonly path: string
  readonly handle: FileHandle
  readonly lock: FileLock
  /** Length in bytes up to which the file is whole. */
  readonly size: number
  /** Initial length in bytes. */
  readonly begun: number
}

/** The last line of each entry, in the order of their first lines. */
export type Latest = Map<string, ChannelEntry.JournalLine>

/** Maximum length of a line, in bytes: longer ones are neither written nor read. */
export const maximumLine = 1024 * 1024

/** Characters of text that are collected before a write. */
const batchLength = 256 * 1024

/** The file's own path, without links: all names of a journal share one lock, and a link stays a link. */
export const pathOf = async (given: string): Promise<string> => {
  let path = resolve(given)
  for (let link = 0; link < 40; link++) {
    // oxlint-disable-next-line no-await-in-loop -- each link is read at the place that the one before it names
    path = join(await realpath(dirname(path)), basename(path))
    // oxlint-disable-next-line no-await-in-loop -- each link is read at the place that the one before it names
    const target = await readlink(path).catch((error: unknown) => {
      // Not a link, or missing.
      if (isCode(error, "EINVAL") || isCode(error, "ENOENT") || isCode(error, "UNKNOWN")) return undefined
      throw error
    })
    if (target === undefined) return path
    path = resolve(dirname(path), target)
  }
  return unusable(given, "is a circular link")
}

/**
 * Takes the file over: reads it into `latest`, and puts a new file with the entries that are live at `now` in its
 * place. A missing file is made.
 */
export const takeOver = async (path: string, lock: FileLock, latest: Latest, now: number): Promise<JournalFile> => {
  await removeDrafts(path)
  const old = await openForReading(path)
  try {
    const end = old === undefined ? 0 : await readInto(latest, path, old, 0)
    const file = await writeAnew(path, lock, latest, now)
    return old === undefined ? file : await withLateLines(file, latest, old, end)
  } finally {
    await old?.close()
  }
}

/** The file with the lines that were appended to the old one before it lost its place. */
const withLateLines = async (
  file: JournalFile,
  latest: Latest,
  old: FileHandle,
  from: number
): Promise<JournalFile> => {
  try {
    const late: Latest = new Map()
    await readInto(late, file.path, old, from)
    for (const entry of late.values()) latest.set(entry.id, PaymentJournal.merged(latest.get(entry.id), entry))
    return late.size === 0 ? file : await append(file, [...late.values()])
  } catch (error) {
    await file.handle.close()
    throw error
  }
}

/** Puts a file with the live entries in place of the current one; the others are removed from `latest`. */
export const writeAnew = async (path: string, lock: FileLock, latest: Latest, now: number): Promise<JournalFile> => {
  forgetOld(latest, now)
  const draft = `${path}.${lock.token}.new`
  await rm(draft, { force: true })
  const handle = await open(draft, "ax", 0o600)
  try {
    // Checked only now: a process that takes the lock later removes the draft, and one that took it before is seen here.
    await demandLock(path, lock)
    let size = 0
    for (const text of batches(latest.values())) {
      // oxlint-disable-next-line no-await-in-loop -- one batch of text is in memory at a time
      await handle.appendFile(text)
      size += Buffer.byteLength(text)
    }
    await handle.sync()
    await rename(draft, path)
    await syncFolder(path)
    return { path, handle, lock, size, begun: size }
  } catch (error) {
    await handle.close()
    await rm(draft, { force: true }).catch(() => undefined)
    throw error
  }
}

/**
 * Appends lines and waits for the disk. If this fails none of them counts: the rest of a failed attempt is cut off at
 * once, or before the next one, and readers ignore a broken line at the end.
 */
export const append = async (
  file: JournalFile,
  lines: ReadonlyArray<ChannelEntry.JournalLine>
): Promise<JournalFile> => {
  const { handle, path, size } = file
  const text = lines.map(lineOf).join("")
  await demandLock(path, file.lock)
  await demandPlace(file)
  const { size: found } = await handle.stat()
  if (found !== size) await handle.truncate(size)
  try {
    await handle.appendFile(text)
    await handle.datasync()
  } catch (error) {
    await handle.truncate(size).catch(() => undefined)
    throw error
  }
  await demandPlace(file)
  return { ...file, size: size + Buffer.byteLength(text) }
}

const demandLock = async (path: string, lock: FileLock): Promise<void> => {
  if (!(await lock.isHeld())) unusable(path, "is no longer locked by this process; open it again")
}

/** Whether the file that we write to is the one that others read. */
const demandPlace = async ({ handle, path }: JournalFile): Promise<void> => {
  const [ours, there] = await Promise.all([
    handle.stat({ bigint: true }),
    stat(path, { bigint: true }).catch((error: unknown) => {
      if (isCode(error, "ENOENT")) return undefined
      throw error
    })
  ])
  if (there?.ino !== ours.ino || there.dev !== ours.dev) {
    unusable(path, "was replaced or removed while it was in use; nothing is written to it: open it again")
  }
}

/** Removes the drafts of earlier holders and of competitors, so that their pending rewrites cannot take effect. */
const removeDrafts = async (path: string): Promise<void> => {
  const folder = dirname(path)
  const names = await readdir(folder)
  const drafts = names.filter((name) => name.startsWith(`${basename(path)}.`) && name.endsWith(".new"))
  await Promise.all(drafts.map((name) => rm(join(folder, name), { force: true })))
}

const openForReading = async (path: string): Promise<FileHandle | undefined> => {
  try {
    // Opening a pipe would block until a writer comes, and a device must not be replaced.
    if (!(await lstat(path)).isFile())
      unusable(path, "is not a regular file; name one, or a path that does not exist yet")
    return await open(path, "r")
  } catch (error) {
    if (isCode(error, "ENOENT")) return undefined
    throw error
  }
}

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(ChannelEntry.JournalLine))
const utf8 = new TextDecoder("utf-8", { fatal: true })

/**
 * Reads the whole lines from a byte on, and returns the byte after the last. The last line may be cut off by a crash,
 * or be incomplete after a power cut, with zeros for the rest; any other broken line means damage.
 */
const readInto = async (latest: Latest, path: string, handle: FileHandle, from: number): Promise<number> => {
  let end = from
  let broken: number | undefined
  for await (const line of LineReader.read(handle, { from, maximum: maximumLine })) {
    if (broken !== undefined) return damaged(path, broken)
    const entry = entryIn(line.bytes)
    if (entry !== undefined) {
      latest.set(entry.id, PaymentJournal.merged(latest.get(entry.id), entry))
      end = line.end
    } else if (line.bytes?.includes(0) === true) broken = line.number
    else return damaged(path, line.number)
  }
  return end
}

const entryIn = (bytes: Buffer | undefined): ChannelEntry.JournalLine | undefined => {
  try {
    return bytes === undefined ? undefined : Option.getOrUndefined(decode(utf8.decode(bytes)))
  } catch {
    return undefined
  }
}

const damaged = (path: string, line: number) =>
  unusable(path, `is damaged at line ${line}; payments in it may still be pending`)

/**
 * Forgets obsolete entries. The youngest entry is a lower bound of the time: a clock that is ahead when the file is
 * opened makes nothing obsolete.
 */
const forgetOld = (latest: Latest, now: number): void => {
  let youngest = 0
  for (const { at } of latest.values()) youngest = Math.max(youngest, at)
  const oldest = Math.min(now, youngest) - PaymentJournal.retention
  for (const line of latest.values()) if (PaymentJournal.isObsolete(line, oldest)) latest.delete(line.id)
}

const batches = function* (entries: Iterable<ChannelEntry.JournalLine>): Generator<string> {
  let batch = ""
  for (const entry of entries) {
    batch += lineOf(entry)
    if (batch.length < batchLength) continue
    yield batch
    batch = ""
  }
  if (batch !== "") yield batch
}

const lineOf = (entry: ChannelEntry.JournalLine): string => {
  const line = `${JSON.stringify(entry)}\n`
  if (Buffer.byteLength(line) <= maximumLine) return line
  throw new PaymentJournal.JournalUnavailable({
    message: `the payment for ${(ChannelEntry.isChannel(entry) ? entry.host : entry.url).slice(0, 200)} makes a line of more than ${maximumLine} bytes, which no journal keeps; nothing was sent: ask for it by a shorter URL`
  })
}

/** Makes a renaming survive a power cut. Windows cannot do this for directories. */
const syncFolder = async (path: string): Promise<void> => {
  if (process.platform === "win32") return
  const folder = await open(dirname(path), "r")
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

const isCode = (error: unknown, code: string) => error instanceof Error && "code" in error && error.code === code

const unusable = (path: string, what: string): never => {
  throw new PaymentJournal.JournalUnavailable({ message: `the journal ${path} ${what}` })
}
