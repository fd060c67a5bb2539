/**
 * A facilitator under trial as its operator sees it: a process that is started, watched, started again whenever it ends,
 * and struck in between. Where it listens stays the same through all its lives.
 */
import { type ChildProcess, fork } from "node:child_process"
import { tmpdir } from "node:os"
import { join } from "node:path"

import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import * as SourceMutation from "../attacks/SourceMutation.ts"
import { type Failpoint, seriesToText } from "../faults/Failpoint.ts"
import { type MutationName, mutations } from "../Mutation.ts"
import { toText as settingsText, type TrialSettings } from "./TrialSettings.ts"

/** The options of a facilitator's start. */
export interface Options {
  readonly settings: TrialSettings
  readonly mutation?: MutationName | undefined
  /** In its first life alone, one after another. */
  readonly failpoints?: ReadonlyArray<Failpoint> | undefined
  /** The failpoints of each life, the first one's first; in place of `failpoints`. */
  readonly lives?: ReadonlyArray<ReadonlyArray<Failpoint>> | undefined
  /** The module that it runs, from the top of the project; default the facilitator's. */
  readonly program?: string | undefined
  /** Its memory is measured after what nothing refers to was collected. */
  readonly collects?: boolean | undefined
}

/** One life of the process. Times are milliseconds of the monotonic clock. */
export interface Life {
  readonly began: number
  /** When it listened; `undefined` if it never did. */
  readonly listened: number | undefined
  readonly ended: number | undefined
  /** The exit code or the signal; `undefined` while it lives. */
  readonly by: number | string | undefined
}

const MemoryUse = Schema.Struct({ rss: Schema.Int, heapUsed: Schema.Int, external: Schema.Int })
const decodeMemory = Schema.decodeUnknownOption(MemoryUse)

export type MemoryUse = typeof MemoryUse.Type

/** The facilitator. */
export interface FacilitatorLife {
  readonly url: string
  readonly lives: ReadonlyArray<Life>
  /** The last lines it wrote, of all its lives. */
  readonly log: ReadonlyArray<string>
  /** The failpoints that have struck, as text. */
  readonly struck: ReadonlySet<string>
  /** Completes when the present life listens. */
  readonly listening: Effect.Effect<void>
  /** The process's memory use, in bytes; waits for its report. */
  readonly memory: Effect.Effect<MemoryUse>
  /** Sends a signal; after a deadly one it is started again at once. */
  readonly signal: (name: NodeJS.Signals) => Effect.Effect<void>
  /** The process, while there is one. */
  readonly pid: () => number | undefined
  /** Asks it to end, and does not start it again. */
  readonly stop: Effect.Effect<void>
}

/** Starts a facilitator that lives, again and again, as long as the scope. */
export const make = Effect.fnUntraced(function* (options: Options) {
  const supervisor = new FacilitatorSupervisor(options)
  yield* Effect.acquireRelease(
    Effect.sync(() => supervisor.begin()),
    () => supervisor.end("SIGKILL")
  )
  const life: FacilitatorLife = {
    url: `http://127.0.0.1:${options.settings.port}`,
    lives: supervisor.lives,
    log: supervisor.log,
    struck: supervisor.struck,
    listening: Effect.suspend(() => Deferred.await(supervisor.listening)),
    memory: Effect.callback((resume) => {
      supervisor.heard = (use) => resume(Effect.succeed(use))
      supervisor.child?.send("memory")
    }),
    signal: (name) => Effect.sync(() => void supervisor.child?.kill(name)),
    pid: () => supervisor.child?.pid,
    stop: Effect.suspend(() => supervisor.end("SIGTERM"))
  }
  return life
})

const main = "apps/trials/src/world/TrialFacilitator"
const longestLog = 400
/** Begin of the line that the process writes when a failpoint strikes. */
export const strikes = "strikes "
/** Number of lives in a row that end before they listen; from then on the trial itself is wrong. */
const vainLives = 30

interface OpenLife {
  began: number
  listened: number | undefined
  ended: number | undefined
  by: number | string | undefined
}

class FacilitatorSupervisor {
  readonly lives: Array<OpenLife> = []
  readonly log: Array<string> = []
  readonly struck = new Set<string>()
  listening = Deferred.makeUnsafe<void>()
  child: ChildProcess | undefined
  heard: ((use: MemoryUse) => void) | undefined
  private readonly options: Options
  private isOver = false

  constructor(options: Options) {
    this.options = options
  }

  begin(): void {
    const life: OpenLife = { began: performance.now(), listened: undefined, ended: undefined, by: undefined }
    this.lives.push(life)
    const child = this.spawn(this.lives.length - 1)
    this.child = child
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (chunk: Buffer) => this.note(chunk.toString()))
    child.on("message", (message) => {
      const use = decodeMemory(message)
      if (Option.isSome(use)) return this.heard?.(use.value)
      life.listened = performance.now()
      Deferred.doneUnsafe(this.listening, Effect.void)
    })
    child.once("exit", (code, signal) => {
      life.ended = performance.now()
      life.by = signal ?? code ?? undefined
      this.note(`ended by ${life.by}`)
      if (this.isOver) return
      if (life.listened !== undefined) this.listening = Deferred.makeUnsafe<void>()
      if (this.cannotBegin()) return Deferred.doneUnsafe(this.listening, Effect.die(new Error(this.lastWords())))
      // One that cannot begin is not started again in a frenzy.
      setTimeout(() => this.isOver || this.begin(), life.listened === undefined ? 500 : 0)
    })
  }

  /** Whether the process ended by itself, without a kill, again and again before it listened. */
  private cannotBegin(): boolean {
    const latest = this.lives.slice(-vainLives)
    return latest.length === vainLives && latest.every(({ by, listened }) => listened === undefined && by === 1)
  }

  private lastWords(): string {
    return `the facilitator cannot begin:\n${this.log.slice(-30).join("\n")}`
  }

  end(signal: NodeJS.Signals): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      this.isOver = true
      const { child } = this
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
      child.once("exit", () => resume(Effect.void))
      child.kill("SIGCONT")
      child.kill(signal)
    })
  }

  private spawn(life: number): ChildProcess {
    const { collects = false, failpoints, lives, mutation, program = main, settings } = this.options
    const kills = (lives ?? [failpoints ?? []])[life] ?? []
    const sources = mutation === undefined ? undefined : mutations[mutation].sources
    const { environment, execArgv, file } = SourceMutation.program(program, sources)
    const env = {
      ...process.env,
      ...environment,
      NODE_COMPILE_CACHE: join(tmpdir(), "node-compile-cache"),
      TRIAL_SETTINGS: settingsText(settings),
      ...(mutation !== undefined && { MUTATION: mutation }),
      ...(kills.length > 0 && { FAILPOINT: seriesToText(kills) })
    }
    return fork(file, [], {
      env,
      execArgv: [...execArgv, ...(collects ? ["--expose-gc"] : [])],
      stdio: ["ignore", "pipe", "pipe", "ipc"]
    })
  }

  private note(text: string): void {
    const lines = text.split("\n").filter((line) => line !== "")
    this.log.push(...lines)
    for (const line of lines) if (line.startsWith(strikes)) this.struck.add(line.slice(strikes.length))
    if (this.log.length > longestLog) this.log.splice(0, this.log.length - longestLog)
  }
}
