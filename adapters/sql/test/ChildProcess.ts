/**
 * A child process that runs one of the programs beside this file or a packed release, to be frozen or killed; it ends
 * with the scope.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { resolve } from "node:path"
import { createInterface } from "node:readline"

import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export interface Child {
  /** All lines printed so far. */
  readonly lines: ReadonlyArray<string>
  /** The first line from this place on that begins with this text; dies once the process has ended without it. */
  readonly line: (beginning: string, from?: number) => Effect.Effect<string>
  readonly signal: (name: NodeJS.Signals) => Effect.Effect<void>
  readonly exited: Effect.Effect<void>
}

export const run = (program: string, ...parameters: ReadonlyArray<string>): Effect.Effect<Child, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => open(program, parameters)),
      ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
    ),
    ({ child, ended, lines, watchers }) => ({
      lines,
      line: (beginning, from = 0) =>
        Effect.callback<string>((resume) => {
          const look = () => {
            const found = lines.slice(from).find((line) => line.startsWith(beginning))
            if (found === undefined && !ended()) return false
            watchers.delete(look)
            resume(found === undefined ? Effect.die(new Error(without(beginning, lines))) : Effect.succeed(found))
            return true
          }
          if (!look()) watchers.add(look)
          return Effect.sync(() => watchers.delete(look))
        }),
      signal: (name) => Effect.sync(() => child.kill(name)),
      exited: Effect.callback<void>((resume) => {
        if (child.exitCode !== null || child.signalCode !== null) resume(Effect.void)
        else child.once("exit", () => resume(Effect.void))
      })
    })
  )

const without = (beginning: string, lines: ReadonlyArray<string>): string =>
  `the program ended without the line ${beginning}; its last lines: ${lines.slice(-3).join(" ")}`

/** A process that is killed keeps nothing of what it has compiled: each would compile all its modules anew. */
const keepCompiled =
  "--import=data:text/javascript,import{flushCompileCache}from'node:module';setTimeout(flushCompileCache,1000).unref()"

const open = (program: string, parameters: ReadonlyArray<string>) => {
  const file = resolve(import.meta.dirname, program)
  const child: ChildProcess = spawn(
    process.execPath,
    ["--conditions=@pontage/source", "--no-warnings", keepCompiled, file, ...parameters],
    { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, NODE_OPTIONS: "" } }
  )
  const lines: Array<string> = []
  const watchers = new Set<() => void>()
  const state = { hasEnded: false }
  // Comes once its whole output is read.
  child.once("close", () => {
    state.hasEnded = true
    for (const look of watchers) look()
  })
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on("line", (line) => {
      lines.push(line)
      for (const look of watchers) look()
    })
  }
  return { child, lines, watchers, ended: () => state.hasEnded }
}
