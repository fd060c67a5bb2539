/**
 * A limit on the size of the files that a running process writes (RLIMIT_FSIZE), by `prlimit` of Linux: what it writes
 * beyond fails, as on a disk that is full. It needs no privilege and can be taken back.
 */
import { execFileSync } from "node:child_process"
import { statSync } from "node:fs"

import * as Effect from "effect/Effect"

/** Sets the limit of a process, in bytes. A process that has gone needs none. */
export const set = (pid: number, bytes: number | "unlimited"): Effect.Effect<void> =>
  Effect.sync(() => {
    try {
      // As the process's own user, who may; another, even a privileged one, may not everywhere.
      const { gid, uid } = statSync(`/proc/${pid}`)
      execFileSync("prlimit", ["--pid", `${pid}`, `--fsize=${bytes}:`], { stdio: "ignore", uid, gid })
    } catch (cause) {
      if (isAlive(pid)) throw cause
    }
  })

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
