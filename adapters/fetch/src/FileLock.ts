/**
 * A lock file: one process at a time. The lock of a process that has ended is taken over; a lock that may still be held
 * is never taken, but its holder is named.
 *
 * A dead holder has one heir: the process that could create the file `<lock>.<token of the dead>`. Names are used once,
 * so none of several processes that come late to a take-over can take a lock that has moved on. An heir may die too,
 * and then has an heir of its own, so the lock is held by the last of this chain. Nothing is ever renamed away or put
 * back.
 */
import { randomUUID } from "node:crypto"
import { constants } from "node:fs"
import { copyFile, link, open, readdir, readFile, rename, rm } from "node:fs/promises"
import { basename, dirname, join } from "node:path"

import { PaymentJournal } from "@pontage/core"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import * as LockHolder from "./LockHolder.ts"

/** A lock that is held until its scope ends. */
export interface FileLock {
  /** Token, unique to this holding of the lock. */
  readonly token: string
  /** Whether it is still ours: a person may have removed the file, or another process may have taken us for dead. */
  readonly isHeld: () => Promise<boolean>
}

/**
 * Takes the lock at a path. Fails with `JournalUnavailable` while another process, or another part of this one, holds
 * it.
 */
export const take = (path: string): Effect.Effect<FileLock, PaymentJournal.JournalUnavailable, Scope.Scope> => {
  const holder = LockHolder.mine(randomUUID())
  const { token } = holder
  return Effect.as(
    Effect.acquireRelease(
      Effect.tryPromise({ try: () => acquire(path, holder), catch: (cause) => unavailable(path, cause) }),
      () => Effect.promise(() => release(path, holder))
    ),
    { token, isHeld: () => isHeld(path, token) }
  )
}

/** Attempts that others may win before this process gives up. */
const maximumRounds = 100

const acquire = async (path: string, mine: LockHolder.LockHolder): Promise<void> => {
  const draft = `${path}.${mine.token}.draft`
  LockHolder.remember(mine.token)
  try {
    await write(draft, mine)
    for (let round = 0; round < maximumRounds; round++) {
      // oxlint-disable-next-line no-await-in-loop -- each attempt follows a failed one
      if (await isTaken(path, mine, draft)) return
    }
    throw heldBy(path, undefined)
  } catch (error) {
    LockHolder.forget(mine.token)
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}

/** Whether the lock is ours after one attempt; throws if another process holds it. */
const isTaken = async (path: string, mine: LockHolder.LockHolder, draft: string): Promise<boolean> => {
  if (await claim(draft, path)) return true
  const first = await holderOf(path)
  if (first === undefined) return false
  const last = await lastHeir(path, first)
  if (LockHolder.isAlive(last)) throw heldBy(path, last)
  const place = placeOfHeir(path, last.token)
  if (!(await claim(draft, place))) return false
  if ((await holderOf(path))?.token !== first.token) {
    // The whole chain has ended: another process has taken it over and put its own file in its place.
    await rm(place, { force: true })
    return false
  }
  await rename(draft, path)
  await removeRemains(path, mine)
  return true
}

const placeOfHeir = (path: string, token: string) => `${path}.${token}`

const lastHeir = async (path: string, first: LockHolder.LockHolder): Promise<LockHolder.LockHolder> => {
  for (let last = first; ;) {
    // oxlint-disable-next-line no-await-in-loop -- each heir's name follows from the holder before it
    const heir = await holderOf(placeOfHeir(path, last.token))
    if (heir === undefined) return last
    last = heir
  }
}

const isHeld = async (path: string, token: string): Promise<boolean> => {
  try {
    return (await holderOf(path))?.token === token && (await holderOf(placeOfHeir(path, token))) === undefined
  } catch {
    return false
  }
}

/**
 * Releases the lock: the process becomes its own heir first, so that the lock cannot be taken over between the last
 * check of it and its removal.
 */
const release = async (path: string, { token }: LockHolder.LockHolder): Promise<void> => {
  const heir = LockHolder.mine(randomUUID())
  const draft = `${path}.${heir.token}.draft`
  try {
    await write(draft, heir)
    const place = placeOfHeir(path, token)
    if (!(await claim(draft, place))) return
    if ((await holderOf(path))?.token === token) await rm(path, { force: true })
    await rm(place, { force: true })
  } catch {
    // It stays behind, and is taken over like that of a dead process.
  } finally {
    LockHolder.forget(token)
    await rm(draft, { force: true }).catch(() => undefined)
  }
}

/** Whether the file could be created with the draft's content, in one step where the file system can. */
const claim = async (draft: string, path: string): Promise<boolean> => {
  try {
    await link(draft, path).catch((error: unknown) => {
      if (!withoutLinks.has(codeOf(error) ?? "")) throw error
      return copyFile(draft, path, constants.COPYFILE_EXCL)
    })
    return true
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false
    throw error
  }
}

/** The errors of file systems that have no hard links. */
const withoutLinks: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EINVAL", "EMLINK"])

/** Writes a draft to the disk before it gets its name: a power cut must not leave an unreadable lock. */
const write = async (path: string, holder: LockHolder.LockHolder): Promise<void> => {
  const handle = await open(path, "wx", 0o600)
  try {
    await handle.writeFile(JSON.stringify(holder))
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Reads a lock; `undefined` if the file is missing. */
const holderOf = async (path: string): Promise<LockHolder.LockHolder | undefined> => {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined
    throw error
  })
  if (text === undefined) return undefined
  const holder = LockHolder.fromText(text)
  if (holder === undefined) throw heldBy(path, undefined)
  return holder
}

/** Removes the files that dead processes left beside the lock. Processes that come after us are not among them. */
const removeRemains = async (path: string, mine: LockHolder.LockHolder): Promise<void> => {
  const folder = dirname(path)
  const names = await readdir(folder).catch(() => [])
  const beside = names.filter((name) => name.startsWith(`${basename(path)}.`)).map((name) => join(folder, name))
  const remove = async (remains: string) => {
    const holder = await holderOf(remains).catch(() => undefined)
    if (holder === undefined || remains === placeOfHeir(path, mine.token)) return
    if (holder.token === mine.token || !LockHolder.isAlive(holder)) await rm(remains, { force: true })
  }
  await Promise.all(beside.map((remains) => remove(remains).catch(() => undefined)))
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error ? String(error.code) : undefined

const heldBy = (path: string, holder: LockHolder.LockHolder | undefined) =>
  new PaymentJournal.JournalUnavailable({
    message:
      holder === undefined
        ? `the lock ${path} is there and cannot be read; remove it if no other process uses the journal`
        : `the journal is in use by process ${holder.pid} on ${holder.host}; give this process a journal of its own, or remove ${path} if that process is gone`
  })

const unavailable = (path: string, cause: unknown) =>
  cause instanceof PaymentJournal.JournalUnavailable
    ? cause
    : new PaymentJournal.JournalUnavailable({ message: `the lock ${path} cannot be written`, cause })
