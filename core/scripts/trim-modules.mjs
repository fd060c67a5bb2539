/**
 * Deletes what no command here reads from the installed packages, some 280 MB: source maps, which only a debugger reads;
 * sources in TypeScript, which Node refuses to run from `node_modules`; sources in C with the headers for them; the tests and
 * pages of packages; and the folders below. It runs after every installation, on whichever Node that has, so it is plain
 * JavaScript.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"

const modules = join(import.meta.dirname, "../../node_modules")

/** Large folders and the reason why nothing reads them. */
const unread = {
  "the same once more for `require` or for browsers": [
    "viem/_cjs",
    "ox/_cjs",
    "ethers/dist",
    "tronweb/dist",
    "rxjs/dist/esm",
    "rxjs/dist/esm5",
    "rxjs/dist/bundles"
  ],
  "the compiler's whole input and output; each contract has a file of its own beside it": [
    "@safe-global/safe-4337/build/artifacts/build-info",
    "@safe-global/safe-contracts/build/artifacts/build-info"
  ],
  "what nx runs where it has no program for the platform": ["@napi-rs/wasm-runtime/dist"]
}

/** What a package may hold beside its code, at its top. */
const besides = new Set(["test", "tests", "docs", "doc", "examples", "benchmarks"])
/** Samples that effect's own guide refers to. */
const kept = new Set(["ai-docs"])
const deleted = /\.(?:map|c|cc|h|a)$|^CHANGELOG\.md$/
const source = /(?<!\.d|\.d\.[a-z]+)\.[cm]?ts$/

/** Links lead to the packages of this repository, and are left alone. */
const trim = (folder, isTypedBySources = false) => {
  const entries = readdirSync(folder, { withFileTypes: true })
  const manifest = entries.some(({ name }) => name === "package.json")
    ? readFileSync(join(folder, "package.json"), "utf8")
    : ""
  const isPackage = /"version":/.test(manifest)
  // A few packages have no declarations beside their sources.
  const keepsSources = isPackage ? /"types": "[^"]*(?<!\.d)\.ts"/.test(manifest) : isTypedBySources
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      if (isPackage && besides.has(entry.name)) rmSync(path, { recursive: true, force: true })
      else if (!kept.has(entry.name)) trim(path, keepsSources)
    } else if (entry.isFile() && (deleted.test(entry.name) || (!keepsSources && source.test(entry.name)))) {
      rmSync(path, { force: true })
    }
  }
}

if (existsSync(modules)) {
  for (const folder of Object.values(unread).flat()) rmSync(join(modules, folder), { recursive: true, force: true })
  trim(modules)
}
