/**
 * A lock file: one process at a time. What a process left behind that is no longer there is taken over; what may still be
 * held is never taken, but named.
 */
import { randomUUID } from "node:crypto"
import { readFile, rename, rm, writeFile } from "node:fs/promises"
import { hostname } from "node:os"

import { PaymentJournal } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

const Holder = Schema.fromJsonString(Schema.Struct({ pid: Schema.Int, host: Schema.String, token: Schema.String }))
type Holder = typeof Holder.Type

const decode = Schema.decodeUnknownOption(Holder)

/**
 * A lock that is held until its scope ends.
 *
 * @category models
 */
export interface FileLock {
  /** Whether it is still ours; a lock file that a person has removed is nobody's. */
  readonly isHeld: Effect.Effect<boolean>
}

/**
 * Takes the lock at a path. Fails with `JournalUnavailable` while another process, or another part of this one, holds it.
 *
 * @category constructors
 */
export const take = (path: string): Effect.Effect<FileLock, PaymentJournal.JournalUnavailable, Scope.Scope> => {
  const mine: Holder = { pid: process.pid, host: hostname(), token: randomUUID() }
  const isHeld = Effect.map(holderOf(path), (holder) => holder?.token === mine.token)
  const release = Effect.flatMap(isHeld, (held) =>
    held ? Effect.promise(() => rm(path, { force: true })) : Effect.void
  )
  return Effect.as(
    Effect.acquireRelease(acquire(path, mine), () => release),
    { isHeld }
  )
}

const acquire = Effect.fnUntraced(function* (path: string, mine: Holder) {
  if (yield* create(path, mine)) return
  const holder = yield* holderOf(path)
  if (holder === undefined || isAlive(holder)) return yield* heldBy(path, holder)
  yield* evict(path, holder)
  if (!(yield* create(path, mine))) return yield* heldBy(path, yield* holderOf(path))
})

/** Whether the file could be created: that it must not exist yet is what makes it a lock. */
const create = (path: string, holder: Holder) =>
  Effect.tryPromise({
    try: () => writeFile(path, JSON.stringify(holder), { flag: "wx", mode: 0o600 }).then(() => true),
    catch: (cause) => cause
  }).pipe(
    Effect.catch((cause) =>
      cause instanceof Error && "code" in cause && cause.code === "EEXIST"
        ? Effect.succeed(false)
        : Effect.fail(new PaymentJournal.JournalUnavailable({ message: `the lock ${path} cannot be written`, cause }))
    )
  )

const holderOf = (path: string): Effect.Effect<Holder | undefined> =>
  Effect.tryPromise(() => readFile(path, "utf8")).pipe(
    Effect.map((text) => Option.getOrUndefined(decode(text))),
    Effect.catch(() => Effect.succeed(undefined))
  )

/** A process of another machine cannot be asked, so it counts as alive. */
const isAlive = ({ host, pid }: Holder): boolean => {
  if (host !== hostname()) return true
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "ESRCH")
  }
}

/**
 * Takes a dead holder's file out of the way. Renaming is atomic, so of several processes that do this one gets the file;
 * one that was late and got a living holder's puts it back, and the holder looks at its lock before it writes.
 */
const evict = Effect.fnUntraced(function* (path: string, dead: Holder) {
  const aside = `${path}.${randomUUID()}`
  yield* Effect.promise(() => rename(path, aside).catch(() => undefined))
  const taken = yield* holderOf(aside)
  yield* Effect.promise(() =>
    taken === undefined || taken.token === dead.token ? rm(aside, { force: true }) : rename(aside, path)
  )
})

const heldBy = (path: string, holder: Holder | undefined) =>
  Effect.fail(
    new PaymentJournal.JournalUnavailable({
      message:
        holder === undefined
          ? `the lock ${path} is there and cannot be read; remove it if no other process uses the journal`
          : `the journal is in use by process ${holder.pid} on ${holder.host}; give this process a journal of its own, or remove ${path} if that process is gone`
    })
  )
