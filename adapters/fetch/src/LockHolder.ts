/**
 * The holder of a lock file, as written there, and whether it can still be running. A process id alone does not tell:
 * in a container every start has the same one, and elsewhere ids are reused.
 */
import { readFileSync } from "node:fs"
import { hostname } from "node:os"
import { threadId } from "node:worker_threads"

import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/**
 * A holder. `started` and `thread` are missing in locks of version 0.1, `started` also on systems that do not report
 * it.
 */
export const LockHolder = Schema.Struct({
  pid: Schema.Int,
  host: Schema.String,
  /** Unique; part of a file's name. */
  token: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9-]{1,64}$/)),
  /** When the process was started: the system's boot, and its clock ticks since then. */
  started: Schema.optionalKey(Schema.String),
  thread: Schema.optionalKey(Schema.Int)
})

export type LockHolder = typeof LockHolder.Type

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(LockHolder))

/** Reads a lock file's text; `undefined` if it is malformed. */
export const fromText = (text: string): LockHolder | undefined => Option.getOrUndefined(decode(text))

/** This thread of this process, under a token of its own. */
export const mine = (token: string): LockHolder => {
  const started = startOf("self")?.started
  return { pid: process.pid, host: hostname(), token, thread: threadId, ...(started === undefined ? {} : { started }) }
}

const key = Symbol.for("@pontage/fetch/locks")
const known: unknown = Reflect.get(globalThis, key)

/** The tokens that this thread holds, also where the module is loaded twice. */
const tokens: Set<unknown> = known instanceof Set ? known : new Set()
Reflect.set(globalThis, key, tokens)

/** Records that this thread holds a token, or no longer does. */
export const remember = (token: string): void => void tokens.add(token)
export const forget = (token: string): void => void tokens.delete(token)

/**
 * Whether the holder may still be running. A process of another machine cannot be checked, so it counts as alive, as
 * does every uncertain case.
 */
export const isAlive = (holder: LockHolder): boolean => {
  if (holder.host !== hostname() || tokens.has(holder.token)) return true
  const found = startOf(holder.pid === process.pid ? "self" : holder.pid)
  if (found?.isDefunct === true) return false
  if (holder.started !== undefined && found !== undefined) return holder.started === found.started
  // Our own id and a token that is not ours: an earlier process, or another thread of this one.
  if (holder.pid === process.pid) return holder.thread !== undefined && holder.thread !== threadId
  return exists(holder.pid)
}

const exists = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "ESRCH")
  }
}

interface ProcessStart {
  readonly started: string
  /** Ended, and not yet collected by its parent; in a container this may never happen. */
  readonly isDefunct: boolean
}

/** Linux's facts about a process (proc(5)); `undefined` elsewhere, or if the process is missing. */
const startOf = (pid: number | "self"): ProcessStart | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
    // The program's name is in brackets and may contain any character; field 3 comes after it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    const [state = "", ticks = "0"] = [fields[0], fields[19]]
    return ticks === "0" ? undefined : { started: `${boot()}/${ticks}`, isDefunct: state === "Z" || state === "X" }
  } catch {
    return undefined
  }
}

/** An id of the system's boot: clock ticks restart with it. */
const boot = (): string => {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim()
  } catch {
    return ""
  }
}
