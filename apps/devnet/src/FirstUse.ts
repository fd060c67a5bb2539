/** Packages that are installed on their first use: a process of its own does it, so that the program goes on meanwhile. */
import { spawn } from "node:child_process"

import * as Effect from "effect/Effect"

/** Runs a script that installs packages; its messages go to standard error. Dies where it fails; `what` names the packages. */
export const installedBy = (script: string, what: string): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const child = spawn(process.execPath, [script], { stdio: ["ignore", 2, 2] })
    child.once("error", (error) => resume(Effect.die(error)))
    child.once("exit", (code) =>
      resume(
        code === 0
          ? Effect.void
          : Effect.die(new Error(`${what} are not there, see above: they need the npm registry; run the command again`))
      )
    )
    return Effect.sync(() => child.kill())
  })
