/** The packages that `npm ci` installs: their number, none of the published peers', and no registry named. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import type { SourceFile } from "./SourceText.ts"

/** Packages on one platform. */
export const packageCap = 600

const Entry = Schema.Struct({
  version: Schema.optionalKey(Schema.String),
  resolved: Schema.optionalKey(Schema.String),
  link: Schema.optionalKey(Schema.Boolean),
  os: Schema.optionalKey(Schema.Unknown),
  cpu: Schema.optionalKey(Schema.Unknown)
})
type Entry = typeof Entry.Type
const Lock = Schema.fromJsonString(Schema.Struct({ packages: Schema.Record(Schema.String, Entry) }))
const decodeLock = Schema.decodeUnknownOption(Lock)

const workspaces = "package-lock.json"
const peers = "apps/conformance/package-lock.json"
const browser = "apps/e2e/package-lock.json"
const release = "apps/release/package-lock.json"

/** x402's, in both versions of its protocol, and t402's. */
const isPeer = (name: string): boolean => /^(?:@x402\/|@t402\/|x402(?:-|$)|mppx$)/.test(name)

/** The crash trial buys with these, and they bring nothing but viem and zod, which are there anyway. */
const lightPeers = new Set(["@x402/core", "@x402/evm", "@x402/fetch"])

/** Every breach in the two lock files: that of the workspaces, and that of the app that tries the peers. */
export const weightBreaches = (files: ReadonlyArray<SourceFile>): ReadonlyArray<string> => {
  const [mine, theirs] = [workspaces, peers].map((lock) => entriesOf(files, lock))
  if (mine === undefined || theirs === undefined) return [`${workspaces} and ${peers} are not both there`]
  const count = mine.filter(([, entry]) => isInstalledAnywhere(entry)).length
  return [
    ...(count > packageCap ? [`${workspaces}: ${count} packages, at most ${packageCap}`] : []),
    ...mine.flatMap(([path]) => {
      const name = nameOf(path)
      return isPeer(name) && !lightPeers.has(name) ? [`${workspaces}: ${name} belongs to ${peers}`] : []
    }),
    ...registriesIn(workspaces, mine),
    ...registriesIn(peers, theirs),
    ...[browser, release].flatMap((lock) => registriesIn(lock, entriesOf(files, lock) ?? [])),
    ...apart(new Map(mine), theirs)
  ]
}

const entriesOf = (files: ReadonlyArray<SourceFile>, lock: string) => {
  const text = files.find(({ path }) => path === lock)?.text
  return Option.getOrUndefined(
    Option.map(decodeLock(text), ({ packages }) =>
      Object.entries(packages).filter(([path, { link }]) => path.includes("node_modules/") && link !== true)
    )
  )
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length)

/** Of a package that comes in one build for each platform, at most one is installed; they are left out. */
const isInstalledAnywhere = ({ cpu, os }: Entry): boolean => cpu === undefined && os === undefined

const registriesIn = (lock: string, entries: ReadonlyArray<readonly [string, Entry]>): ReadonlyArray<string> =>
  entries.flatMap(([path, { resolved }]) =>
    resolved === undefined ? [] : [`${lock}: ${path} names the registry ${resolved}`]
  )

/** The packages at the top of both are the same, so that the peers meet those that the tests use. */
const apart = (
  mine: ReadonlyMap<string, Entry>,
  theirs: ReadonlyArray<readonly [string, Entry]>
): ReadonlyArray<string> =>
  theirs.flatMap(([path, { version }]) => {
    const ours = mine.get(path)?.version
    return shared.has(nameOf(path)) && ours !== undefined && ours !== version
      ? [`${peers}: ${path} is ${version}, and ${ours} in ${workspaces}`]
      : []
  })

const shared = new Set(["viem", "express", "hono", ...lightPeers])
