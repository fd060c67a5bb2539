/**
 * A program of the project as one file. Tests start hundreds of processes, and a process that loads two thousand modules of
 * TypeScript spends more CPU on loading than on its work. A bundle is made once for each state of the sources.
 */
import { createHash } from "node:crypto"
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { join, relative } from "node:path"

import { buildSync } from "esbuild"

const top = join(import.meta.dirname, "../../..")
const modules = join(top, "node_modules")
/** Below `node_modules`, so that a bundle finds the packages that it does not contain. */
const bundles = join(modules, ".cache/programs")

/** Packages without native code that read none of their own files; all others are loaded from where they are installed. */
const contained: ReadonlySet<string> = new Set(["@pontage", "effect", "@effect", "viem", "ox", "abitype", "@noble"])

/** The options of a bundle. */
export interface Options {
  /** Whether modules of the program have decorators. Default `false`. */
  readonly decorators?: boolean
}

/** The file to run in place of this module of TypeScript, with the same conditions: the program may start others. */
export const fileOf = (module: string, { decorators = false }: Options = {}): string => {
  const place = join(folder(), relative(top, module).replaceAll(/[^A-Za-z0-9]/g, "-"))
  if (!existsSync(place)) make(module, place, decorators)
  return join(place, "main.mjs")
}

/** Another process may make the same bundle now: one is complete when it has its place, and the first stays. */
const make = (module: string, place: string, decorators: boolean): void => {
  const unfinished = `${place}.${process.pid}`
  buildSync({
    entryPoints: { main: module },
    outdir: unfinished,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    // Modules that the program imports later, or never, stay apart.
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node22",
    conditions: ["@pontage/source"],
    external: readdirSync(modules).filter((name) => !name.startsWith(".") && !contained.has(name)),
    // Errors and spans carry names of classes and functions.
    keepNames: true,
    tsconfigRaw: { compilerOptions: { experimentalDecorators: decorators } },
    logLevel: "error"
  })
  const main = join(unfinished, "main.mjs")
  writeFileSync(main, flushing(readFileSync(main, "utf8")))
  try {
    renameSync(unfinished, place)
  } catch (error) {
    if (!existsSync(place)) throw error
    rmSync(unfinished, { recursive: true })
  }
}

/**
 * A process keeps what it has compiled when it ends by itself. Most of those that tests start are killed, and each would compile
 * everything anew: they keep it once they have begun.
 */
const flushing = (program: string): string => {
  const [, shebang = "", rest = ""] = /^(#!.*\n)?([^]*)$/.exec(program) ?? []
  return `${shebang}import { flushCompileCache as flush__ } from "node:module"
setTimeout(flush__, ${flushMillis}).unref()
${rest}`
}

/** A program has loaded its modules by then. */
const flushMillis = 1000

let found: string | undefined

/** The folder of bundles of today's sources. A process sees one state of them. */
const folder = (): string => (found ??= folderOf(stateOfSources()))

const folderOf = (state: string): string => {
  const made = join(bundles, state)
  if (existsSync(made)) return made
  mkdirSync(made, { recursive: true })
  for (const name of readdirSync(bundles)) removeIfOld(join(bundles, name))
  return made
}

const oldMillis = 24 * 60 * 60 * 1000

/** Tests of an earlier state of the sources may still run, though not for a day. */
const removeIfOld = (path: string): void => {
  // Another process may have removed it meanwhile.
  const made = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
  if (Date.now() - made > oldMillis) rmSync(path, { recursive: true, force: true })
}

const sources = ["core", "schemes/*", "adapters/*", "apps/*"].flatMap((folder) => [
  `${folder}/package.json`,
  `${folder}/src/**/*.ts`
])

/** A digest of the path, time and size of every source, and of the installed packages. */
const stateOfSources = (): string => {
  const digest = createHash("sha256")
  const installed = ["node_modules/.package-lock.json"].filter((file) => existsSync(join(top, file)))
  for (const file of [...installed, ...globSync(sources, { cwd: top })].toSorted()) {
    const { mtimeMs, size } = statSync(join(top, file))
    digest.update(`${file} ${mtimeMs} ${size}\n`)
  }
  return digest.digest("hex").slice(0, 32)
}
