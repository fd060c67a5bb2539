/**
 * Compiles packages and all that they use, and says so: `node core/scripts/compile.ts apps/demo`. Its messages go to
 * standard error, since the programs that start after it may print JSON.
 */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join, relative } from "node:path"

const top = join(import.meta.dirname, "../..")
const packages = process.argv.slice(2)
const paywall = "adapters/paywall"

/** The packages that these ones refer to, themselves included, as paths from the top. */
const withReferences = (paths: ReadonlyArray<string>): ReadonlySet<string> => {
  const found = new Set<string>()
  const add = (path: string) => {
    if (found.has(path)) return
    found.add(path)
    const { references = [] }: { readonly references?: ReadonlyArray<{ readonly path: string }> } = JSON.parse(
      readFileSync(join(top, path, "tsconfig.json"), "utf8")
    )
    for (const reference of references) add(relative(top, join(top, path, reference.path)))
  }
  paths.forEach((path) => add(relative(top, join(top, path))))
  return found
}

process.stderr.write(`Building ${packages.join(" and ")} with the packages it uses (tsc -b) ...\n`)
const began = performance.now()
const { error, status } = spawnSync("tsc", ["-b", ...packages], { cwd: top, stdio: ["ignore", 2, 2] })
if (error !== undefined) process.stderr.write(`tsc did not start (${error.message}): run npm ci first.\n`)
// The page's scripts are bundled from what was compiled.
const bundled =
  status === 0 && withReferences(packages).has(paywall)
    ? spawnSync(process.execPath, [`${paywall}/scripts/bundle.ts`], { cwd: top, stdio: ["ignore", 2, 2] }).status
    : 0
const built = status === 0 && bundled === 0
const seconds = ((performance.now() - began) / 1000).toFixed(1)
process.stderr.write(built ? `Built in ${seconds} s.\n` : `The build failed after ${seconds} s.\n`)
process.exitCode = built ? 0 : status || 1
