/**
 * The service as a process of its own, gone with the scope. It lives in a folder of its own too: whatever it writes where it
 * stands is not left in the project.
 */
import { spawn } from "node:child_process"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

import * as BundledProgram from "@pontage/devnet/BundledProgram"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

const main = BundledProgram.fileOf(fileURLToPath(new URL("../src/main.ts", import.meta.url)))

const freshFolder = () => mkdtempSync(join(tmpdir(), "pontage-process-"))

/** A new file for records, as `PONTAGE_STORE` says it. */
export const freshFile = () => `sqlite:${join(freshFolder(), "payments.sqlite")}`

/** Runs it with these variables, and none of this process's. `url` comes with its first log line, `exited` with its end. */
export const run = Effect.fnUntraced(function* (
  environment: Readonly<Record<string, string>>,
  parameters: ReadonlyArray<string> = []
) {
  const url = yield* Deferred.make<string>()
  const exited = yield* Deferred.make<number | null>()
  const folder = freshFolder()
  const process = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(globalThis.process.execPath, ["--conditions=@pontage/source", main, ...parameters], {
        // Each process would compile all its modules anew without it.
        env: { NODE_COMPILE_CACHE: join(tmpdir(), "node-compile-cache"), ...environment },
        cwd: folder
      })
    ),
    (process) => Effect.sync(() => process.kill("SIGKILL"))
  )
  const output: Array<string> = []
  const read = (chunk: Buffer) => {
    output.push(chunk.toString())
    const found = /listens on (http:\S+);/.exec(output.join(""))?.[1]
    if (found !== undefined) Deferred.doneUnsafe(url, Effect.succeed(found))
  }
  process.stdout.on("data", read)
  process.stderr.on("data", read)
  process.on("close", (code) => Deferred.doneUnsafe(exited, Effect.succeed(code)))
  return { process, folder, output, url: Deferred.await(url), exited: Deferred.await(exited) }
})
