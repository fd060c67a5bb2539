/**
 * Installs the published peers' packages beside this app, by this app's own lock file, unless they are there already.
 * `npm run conformance`, `npm run bench`, `npm run check` and the attacks on a peer run it first; this app's tests call
 * `setup` once before they begin. Its messages go to standard error.
 */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"

const app = join(import.meta.dirname, "..")
const lock = readFileSync(join(app, "package-lock.json"), "utf8")
/** The lock file that was installed last; absent while an installation is unfinished, since npm empties the folder. */
const installed = join(app, "node_modules/.installed-lock.json")

const say = (text: string): void => void process.stderr.write(`${text}\n`)

/** Throws where npm fails. */
export const setup = (): void => {
  if (existsSync(installed) && readFileSync(installed, "utf8") === lock) return
  say("Installing the published peers' packages into apps/conformance/node_modules (once; some 600 MB) ...")
  const began = performance.now()
  // The peers run on the Node that runs this: npm, too, so that it compares their demands with the right one.
  const path = [dirname(process.execPath), process.env["PATH"]].join(delimiter)
  const { error, status } = spawnSync("npm", ["ci"], {
    cwd: app,
    env: { ...process.env, PATH: path },
    stdio: ["ignore", 2, 2]
  })
  if (status !== 0)
    throw new Error(
      `npm ci in apps/conformance ended with ${error?.message ?? status}. It needs the npm registry; run the command again when that answers.`
    )
  writeFileSync(installed, lock)
  say(`Installed in ${((performance.now() - began) / 1000).toFixed(0)} s.`)
}

if (import.meta.main) setup()
