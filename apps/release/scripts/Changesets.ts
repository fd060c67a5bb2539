/** Runs changesets, the tool of versions and changelogs, in the project's root. */
import { spawnSync } from "node:child_process"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"

import { installApart } from "../../../core/scripts/InstallApart.ts"
import { top } from "./Packages.ts"

const app = join(import.meta.dirname, "..")

/** Runs it with these arguments at this terminal, and gives its exit code. */
export const changesets = (args: ReadonlyArray<string>): number => {
  installApart(app, "changesets and the release's other tools, some 400 MB,")
  const manifest = createRequire(join(app, "package.json")).resolve("@changesets/cli/package.json")
  const { error, status } = spawnSync(process.execPath, [join(dirname(manifest), "bin.js"), ...args], {
    cwd: top,
    stdio: "inherit"
  })
  if (error !== undefined) throw error
  return status ?? 1
}
