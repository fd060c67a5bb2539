/**
 * The real file system, one call at a time: of several parts of a program that use it at once, only one gets on, by one call,
 * and chance says which. So every order in which separate processes might do it comes up sooner or later, and comes up again
 * with the same seed.
 */
import { AsyncLocalStorage } from "node:async_hooks"
import type * as FileSystem from "node:fs/promises"
import type { FileHandle } from "node:fs/promises"

interface Actor {
  readonly name: string
  /** Each lets it make a call that it stands before; it may stand before several. */
  readonly gates: Array<() => void>
  /** Number of calls in progress. */
  calls: number
  /** Whether it has ended, or will never get on. */
  isOver: boolean
}

const actors = new AsyncLocalStorage<Actor>()

/** The part that runs now; `undefined` outside of a play. */
export const current = (): string | undefined => actors.getStore()?.name

type Call = (...parameters: ReadonlyArray<unknown>) => unknown

const stepped =
  (call: Call): Call =>
  async (...parameters) => {
    const actor = actors.getStore()
    if (actor === undefined) return call(...parameters)
    await new Promise<void>((resolve) => void actor.gates.push(resolve))
    try {
      return await call(...parameters)
    } finally {
      actor.calls -= 1
    }
  }

/** The files that a crashed part has left open. */
const open = new Set<FileHandle>()

/** Closes the files that crashed parts have left open, as the end of their process would. */
export const closeAll = async (): Promise<void> => {
  await Promise.all([...open].map((handle) => handle.close().catch(() => undefined)))
  open.clear()
}

/** Waiting for the disk is a step, and takes no time: nothing here loses its power. */
const handleOf = (handle: FileHandle): FileHandle => {
  open.add(handle)
  return new Proxy(handle, {
    get: (target, name) => {
      if (name === "sync" || name === "datasync") return stepped(() => undefined)
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === "function" ? stepped((value as Call).bind(target)) : value
    }
  })
}

const names = [
  "copyFile",
  "link",
  "lstat",
  "open",
  "readdir",
  "readFile",
  "readlink",
  "realpath",
  "rename",
  "rm",
  "stat"
] as const

/** The module, with every call of an actor as a step. */
export const wrap = (files: typeof FileSystem) => {
  const calls = Object.fromEntries(names.map((name) => [name, stepped(files[name] as Call)]))
  const openStepped = calls["open"] as unknown as typeof files.open
  return {
    ...files,
    ...calls,
    open: async (...parameters: Parameters<typeof files.open>) => handleOf(await openStepped(...parameters))
  }
}

/** Chance that can be had again (mulberry32): numbers below a bound. */
export const chanceOf = (seed: number) => {
  let state = seed
  return (bound: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound
  }
}

export interface Play {
  /** Before each step: of these, by name, one gets on. May end one for good, as a crash does. */
  readonly onStep?: (resting: ReadonlyArray<string>, crash: (name: string) => void) => void | Promise<void>
}

/** Plays the parts until each has ended or crashed. Their exceptions stay with them. */
export const play = async (
  parts: Readonly<Record<string, () => Promise<void>>>,
  chance: (bound: number) => number,
  { onStep }: Play = {}
): Promise<void> => {
  const all = Object.entries(parts).map(([name, run]) => begin(name, run))
  const alive = () => all.filter(({ isOver }) => !isOver)
  const crash = (name: string) => {
    for (const actor of all) if (actor.name === name) actor.isOver = true
  }
  // Mostly the same one gets on: what goes wrong does so where one stands still for long.
  let last: Actor | undefined
  while (true) {
    // oxlint-disable-next-line no-await-in-loop -- each step follows the one before it
    await untilAllRest(alive)
    // oxlint-disable-next-line no-await-in-loop -- each step follows the one before it
    await onStep?.(
      alive().map(({ name }) => name),
      crash
    )
    const resting = alive()
    if (last === undefined || !resting.includes(last) || chance(8) === 0)
      last = resting[chance(Math.max(1, resting.length))]
    if (last === undefined) return
    const next: Actor = last
    next.calls += 1
    next.gates.shift()?.()
  }
}

/** No part is in a call, and each stands before one. Code between two calls takes turns, and no time. */
const untilAllRest = async (alive: () => ReadonlyArray<Actor>): Promise<void> => {
  do {
    // oxlint-disable-next-line no-await-in-loop -- each look follows an empty one
    await new Promise<void>((resolve) => void setImmediate(resolve))
  } while (alive().some(({ calls, gates }) => calls > 0 || gates.length === 0))
}

const begin = (name: string, run: () => Promise<void>): Actor => {
  const actor: Actor = { name, gates: [], calls: 0, isOver: false }
  const end = () => void (actor.isOver = true)
  void actors.run(actor, () => run().then(end, end))
  return actor
}
