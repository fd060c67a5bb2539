/**
 * A program under attack as a process of its own, gone with the scope. It says by a message, or by a line of its log, where
 * it listens.
 */
import { fork } from "node:child_process"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import { program, type SourceMutation } from "../SourceMutation.ts"

/** The options of its start. */
export interface Options {
  /** The module's path from the top of the project: `apps/facilitator/src/main`. */
  readonly module: string
  /** All of its environment beside the paths that Node needs. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly mutation: SourceMutation | undefined
  /** Whether modules that it loads have decorators. Default `false`. */
  readonly decorators?: boolean
}

/** The process. */
export interface StagedProcess {
  readonly url: string
  readonly pid: number
  /** All output of the process so far. */
  readonly output: () => string
}

const Listening = Schema.Struct({ url: Schema.String })
const decodeListening = Schema.decodeUnknownOption(Listening)
/** Characters of its last output that are told of a process that has ended. */
const mostTold = 4_000
const listeningLine = /listens on (http:\S+?);/

/** Starts the process and waits until it listens. Dies with the process's last output if it ends before. */
export const start = Effect.fnUntraced(function* ({ decorators = false, environment, module, mutation }: Options) {
  const listening = yield* Deferred.make<string>()
  const { environment: mutating, execArgv, file } = program(module, mutation, decorators)
  const written: Array<string> = []
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      fork(file, [], {
        cwd: mkdtempSync(join(tmpdir(), "pontage-attack-")),
        env: {
          PATH: process.env["PATH"] ?? "",
          NODE_COMPILE_CACHE: join(tmpdir(), "node-compile-cache"),
          ...environment,
          ...mutating
        },
        execArgv,
        stdio: ["ignore", "pipe", "pipe", "ipc"]
      })
    ),
    (child) => Effect.sync(() => child.removeAllListeners("exit").kill("SIGKILL"))
  )
  const found = (url: string) => Deferred.doneUnsafe(listening, Effect.succeed(url))
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      written.push(chunk.toString())
      const url = listeningLine.exec(written.join(""))?.[1]
      if (url !== undefined) found(url)
    })
  }
  child.on("message", (message) => Option.map(decodeListening(message), ({ url }) => found(url)))
  child.once("exit", (code, signal) => {
    const end = `${module} ended with ${code ?? signal}:\n${written.join("").slice(-mostTold)}`
    // A process that ends in the middle of an attack breaks it somewhere else, where nothing names the reason.
    if (!Deferred.doneUnsafe(listening, Effect.die(new Error(end)))) process.stderr.write(`${end}\n`)
  })
  const url = yield* Deferred.await(listening)
  return { url, pid: child.pid ?? 0, output: () => written.join("") } satisfies StagedProcess
})
