/**
 * Tries the packages as a stranger would get them: packs them, has publint and arethetypeswrong judge the tarballs, installs
 * them into clean projects (ESM and CommonJS), compiles against them with each TypeScript, and sells a request on each Node.
 */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { installApart } from "../../../core/scripts/InstallApart.ts"
import * as CleanProject from "./CleanProject.ts"
import * as Manifests from "./Manifests.ts"
import { type Manifest, top } from "./Packages.ts"
import { run } from "./Program.ts"
import * as Tarballs from "./Tarballs.ts"

const app = join(import.meta.dirname, "..")
const samples = join(app, "samples")
const require = createRequire(join(app, "package.json"))

const say = (text: string): void => void process.stderr.write(`${text}\n`)

const timed = async <A>(what: string, work: () => Promise<A>): Promise<A> => {
  const began = performance.now()
  const result = await work()
  say(`  ${what}: ${((performance.now() - began) / 1000).toFixed(1)} s`)
  return result
}

const failWith = (faults: ReadonlyArray<string>): void => {
  if (faults.length > 0) throw new Error(faults.join("\n"))
}

/** The Nodes: the oldest that the libraries promise, and the newest of each later line. */
const nodes = (): ReadonlyArray<string> => [
  join(app, "node_modules/node-20/bin/node"),
  join(app, "node_modules/node-22/bin/node"),
  process.execPath
]

/** The compilers, by the path of their program. */
const compilers = (): ReadonlyArray<string> => [
  join(app, "node_modules/typescript-5.9/bin/tsc"),
  join(top, "node_modules/typescript/bin/tsc")
]

interface PublintMessage {
  readonly code: string
  readonly path: ReadonlyArray<string>
  readonly type: string
}

type Publint = (options: { readonly pkgDir: string; readonly strict: boolean; readonly pack: false }) => Promise<{
  readonly messages: ReadonlyArray<PublintMessage>
}>

const publintFaults = async ({ directory, unpacked }: Tarballs.Tarball): Promise<ReadonlyArray<string>> => {
  const { publint }: { readonly publint: Publint } = await import(require.resolve("publint"))
  const { messages } = await publint({ pkgDir: unpacked, strict: true, pack: false })
  return messages
    .filter(({ type }) => type !== "suggestion")
    .map(({ code, path, type }) => `${directory}: publint: ${type} ${code} at ${path.join(".")}`)
}

const judge = async (tarball: Tarballs.Tarball): Promise<void> => {
  failWith([...Tarballs.contentFaults(tarball), ...(await publintFaults(tarball))])
  const attw = join(app, "node_modules/@arethetypeswrong/cli/dist/index.js")
  await run(process.execPath, [attw, tarball.path, "--profile", "esm-only", "--format", "ascii", "--no-emoji"], {
    cwd: app
  })
}

const installed = (name: string): string => {
  const { version }: Manifest = JSON.parse(readFileSync(join(top, "node_modules", name, "package.json"), "utf8"))
  return version
}

const versionsOf = (...names: ReadonlyArray<string>) => Object.fromEntries(names.map((name) => [name, installed(name)]))

const compilerOptions = {
  strict: true,
  target: "es2022",
  lib: ["es2023", "dom", "dom.iterable"],
  types: ["node"],
  skipLibCheck: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true
}

/** Compiles a project's sources with every compiler; the last one's output is run. */
const compile = async (folder: string, options: Readonly<Record<string, string | boolean>>): Promise<void> => {
  const config = { compilerOptions: { ...compilerOptions, ...options }, include: ["src"] }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config, null, 2))
  // oxlint-disable-next-line no-await-in-loop -- both write the same files
  for (const tsc of compilers()) await run(process.execPath, [tsc, "-p", folder], { cwd: folder })
}

const sell = (folder: string, program: string, on: ReadonlyArray<string>): Promise<unknown> =>
  Promise.all(on.map((node) => run(node, [program], { cwd: folder })))

interface Trial {
  readonly place: string
  readonly tarballs: ReadonlyArray<Tarball>
}

type Tarball = Tarballs.Tarball

/** A project of this module system: types, every entry point on every Node, and a sale on every Node. */
const tryModules = async ({ place, tarballs }: Trial, type: "module" | "commonjs"): Promise<void> => {
  const folder = join(place, type)
  const others = versionsOf(
    "effect",
    "koa",
    "@koa/router",
    "@types/koa",
    "express",
    "@types/express",
    "fastify",
    "hono",
    "@types/node",
    "viem"
  )
  await timed(`a clean project (${type}) is installed`, () => CleanProject.make({ folder, type, tarballs, others }))
  mkdirSync(join(folder, "src"))
  copyFileSync(join(samples, "sale.ts"), join(folder, "src/sale.ts"))
  if (type === "module") {
    for (const { name, text } of CleanProject.samples(tarballs)) writeFileSync(join(folder, "src", name), text)
  }
  await timed("TypeScript 5.9 and 7 compile the samples", async () => {
    if (type === "module") await compile(folder, { module: "esnext", moduleResolution: "bundler", noEmit: true })
    await compile(folder, { module: "nodenext", rootDir: "src", outDir: "dist" })
  })
  copyFileSync(join(samples, "entries.mjs"), join(folder, "entries.mjs"))
  const needed = (node: string) => (node.includes("node-20") ? tarballs.filter(isForNode20) : tarballs)
  await timed("every entry point loads, and a request is sold, on Node 20, 22 and 24", async () => {
    await Promise.all(
      nodes().map((node) => run(node, ["entries.mjs", ...CleanProject.entryPoints(needed(node))], { cwd: folder }))
    )
    await sell(folder, "dist/sale.js", nodes())
  })
}

/** Libraries promise Node 20; the service needs a later one. */
const isForNode20 = ({ manifest }: Tarball): boolean => manifest.engines?.["node"]?.startsWith(">=20") === true

const serviceNeeds = new Set(
  ["core", "evm", "fetch", "koa", "sql", "ton", "tron", "facilitator"].map((name) => `@pontage/${name}`)
)

/** The service from its tarball alone sells on a local chain. */
const tryService = async ({ place, tarballs }: Trial): Promise<void> => {
  const folder = join(place, "service")
  const needed = tarballs.filter(({ manifest: { name } }) => serviceNeeds.has(name))
  const others = versionsOf("effect", "koa", "@koa/router", "viem", "@foundry-rs/anvil")
  await timed("a clean project with the facilitator is installed", () =>
    CleanProject.make({ folder, type: "module", tarballs: needed, others })
  )
  copyFileSync(join(samples, "service.mjs"), join(folder, "service.mjs"))
  await timed("the facilitator settles a sale on a local chain, on Node 22 and 24", async () => {
    // oxlint-disable-next-line no-await-in-loop -- each has a chain of its own to start
    for (const node of nodes().slice(1)) await run(node, ["service.mjs"], { cwd: folder })
  })
}

/** Runs all checks; rejects with the first failure, which says what a stranger would have met. */
export const check = async (): Promise<void> => {
  installApart(app, "publint, arethetypeswrong, TypeScript 5.9, Node 20 and 22, some 400 MB,")
  failWith(Manifests.faults())
  const place = mkdtempSync(join(tmpdir(), "pontage-release-"))
  try {
    const tarballs = await timed("the packages are packed", () => Tarballs.packAll(place))
    await timed(`publint and arethetypeswrong approve ${tarballs.length} tarballs`, () =>
      Promise.all(tarballs.map((tarball) => judge(tarball)))
    )
    const trial = { place, tarballs }
    await tryModules(trial, "module")
    await tryModules(trial, "commonjs")
    await tryService(trial)
    say("The packages can be published.")
  } finally {
    if (process.env["KEEP_RELEASE_TRIAL"] === undefined) rmSync(place, { recursive: true, force: true })
    else say(`The projects are kept in ${place}.`)
  }
}
