/**
 * The file of the records is deleted under a facilitator that runs, and restored by its operator as the README of
 * `@pontage/sql` says: copied out of the process that still has it open, put in its place, and opened by a new process.
 */
import { copyFileSync, readdirSync, readlinkSync, rmSync } from "node:fs"

import * as Effect from "effect/Effect"

import type { FacilitatorLife } from "../world/FacilitatorLife.ts"
import * as ReadinessWatch from "../world/ReadinessWatch.ts"
import type { TrialOptions } from "../world/TrialOptions.ts"
import type { Broken } from "../world/TrialReport.ts"

/** Deletes the file and its log, and brings them back. */
export const loseAndRecover = (
  facilitator: FacilitatorLife,
  filename: string,
  options: TrialOptions
): Effect.Effect<ReadonlyArray<Broken>> =>
  Effect.gen(function* () {
    const files = [filename, `${filename}-wal`]
    yield* Effect.sleep("2 seconds")
    for (const file of files) rmSync(file)
    const found = yield* ReadinessWatch.saysTrouble(facilitator.url, options)
    const pid = facilitator.pid() ?? 0
    for (const file of files) copyFileSync(open(pid, file), `${file}.copy`)
    // Payments taken from here on are in no copy.
    yield* Effect.sleep("2 seconds")
    for (const file of files) copyFileSync(`${file}.copy`, file)
    yield* facilitator.signal("SIGKILL")
    return found
  })

/** Where Linux shows what a process has open. */
const open = (pid: number, file: string): string => {
  const folder = `/proc/${pid}/fd`
  const number = readdirSync(folder).find((one) => readlinkSync(`${folder}/${one}`) === `${file} (deleted)`)
  if (number === undefined) throw new Error(`the process ${pid} has ${file} not open any more`)
  return `${folder}/${number}`
}
