/**
 * Compiles packages and all that they use, and says so: `node core/scripts/compile.ts apps/demo`. Its messages go to
 * standard error, since the programs that start after it may print JSON.
 */
import { spawnSync } from "node:child_process"
import { join } from "node:path"

const top = join(import.meta.dirname, "../..")
const packages = process.argv.slice(2)

process.stderr.write(`Building ${packages.join(" and ")} with the packages it uses (tsc -b) ...\n`)
const began = performance.now()
const { error, status } = spawnSync("tsc", ["-b", ...packages], { cwd: top, stdio: ["ignore", 2, 2] })
if (error !== undefined) process.stderr.write(`tsc did not start (${error.message}): run npm ci first.\n`)
// The page's scripts are bundled from what was compiled.
if (status === 0)
  spawnSync(process.execPath, ["adapters/paywall/scripts/bundle.ts"], { cwd: top, stdio: ["ignore", 2, 2] })
const seconds = ((performance.now() - began) / 1000).toFixed(1)
process.stderr.write(status === 0 ? `Built in ${seconds} s.\n` : `The build failed after ${seconds} s.\n`)
process.exitCode = status ?? 1
