/** Loads every entry point as ESM and by `require`, and prints those that do not load, as JSON. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"

const require = createRequire(import.meta.url)
const names = process.argv.slice(2)

/** The optional peer whose absence is the reason, if it is one. */
const missingPeer = (name, error) => {
  const [, wanted] = /Cannot find (?:package|module) '([^']+)'/.exec(String(error)) ?? []
  const own = name.split("/").slice(0, 2).join("/")
  const { peerDependenciesMeta = {} } = JSON.parse(readFileSync(`node_modules/${own}/package.json`, "utf8"))
  return Object.keys(peerDependenciesMeta).find((peer) => wanted === peer || wanted?.startsWith(`${peer}/`))
}

const failures = []
for (const name of names) {
  for (const load of [(one) => import(one), (one) => require(one)]) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- a module is required after it was imported
      const loaded = await load(name)
      if (Object.keys(loaded).length === 0) failures.push(`${name} exports nothing`)
    } catch (error) {
      if (missingPeer(name, error) === undefined) failures.push(`${name}: ${String(error).slice(0, 300)}`)
      // After a failed import some Nodes refuse the same module to require().
      break
    }
  }
}
console.log(JSON.stringify(failures))
// What an entry point opens at load is no matter of this check.
process.exit(failures.length === 0 ? 0 : 1)
