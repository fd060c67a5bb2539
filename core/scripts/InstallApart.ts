/**
 * Installs the packages of a folder that is no workspace, by its own lock file, unless they are there already: what only one
 * command needs is no burden of `npm ci`. Messages go to standard error.
 */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { delimiter, dirname, join, relative } from "node:path"

const top = join(import.meta.dirname, "../..")

const say = (text: string): void => void process.stderr.write(`${text}\n`)

/** Installs into `folder`; `what` names the packages and their size for people. Throws where npm fails. */
export const installApart = (folder: string, what: string): void => {
  const place = relative(top, folder)
  const lock = readFileSync(join(folder, "package-lock.json"), "utf8")
  // The lock file that was installed last; absent while an installation is unfinished, since npm empties the folder.
  const installed = join(folder, "node_modules/.installed-lock.json")
  if (existsSync(installed) && readFileSync(installed, "utf8") === lock) return
  say(`Installing ${what} into ${place}/node_modules (once) ...`)
  const began = performance.now()
  // They run on the Node that runs this: npm, too, so that it compares their demands with the right one.
  const path = [dirname(process.execPath), process.env["PATH"]].join(delimiter)
  const { error, status } = spawnSync("npm", ["ci"], {
    cwd: folder,
    env: { ...process.env, PATH: path },
    stdio: ["ignore", 2, 2]
  })
  if (status !== 0)
    throw new Error(
      `npm ci in ${place} ended with ${error?.message ?? status}. It needs the npm registry; run the command again when that answers.`
    )
  writeFileSync(installed, lock)
  say(`Installed in ${((performance.now() - began) / 1000).toFixed(0)} s.`)
}
