/** The project as files on disk. */
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join, relative, sep } from "node:path"

import type { SourceFile } from "./SourceText.ts"

export const top = join(import.meta.dirname, "../../..")

/** `.git` is a file in a second work tree of the repository. */
const notOurs = new Set(["node_modules", "dist", "coverage", ".git"])
/** Dotted folders hold what tools keep; these hold what we wrote. */
const dotted = new Set([".github", ".changeset"])
const maximumBytes = 1_000_000

const filesBelow = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (notOurs.has(entry.name)) return []
    const path = join(folder, entry.name)
    if (entry.isFile()) return statSync(path).size <= maximumBytes ? [path] : []
    return entry.isDirectory() && (!entry.name.startsWith(".") || dotted.has(entry.name)) ? filesBelow(path) : []
  })

/** All files of the project, texts and the few that are none. */
export const all = (): ReadonlyArray<SourceFile> =>
  filesBelow(top).map((path) => ({ path: relative(top, path).split(sep).join("/"), text: readFileSync(path, "utf8") }))

/** The sources of the packages among them. */
export const sources = (files: ReadonlyArray<SourceFile>): ReadonlyArray<SourceFile> =>
  files.filter(({ path }) => /^(?:core|schemes\/[^/]+|adapters\/[^/]+|apps\/[^/]+)\/src\/.*\.ts$/.test(path))

/** Whether one of Effect's modules is stable, by the tags in its declarations. */
export const isStable = (effectModule: string): boolean => {
  const text = readFileSync(
    join(top, "node_modules/effect/dist", `${effectModule.slice("effect/".length)}.d.ts`),
    "utf8"
  )
  const count = (tag: string) => text.split(`@stability ${tag}`).length - 1
  return count("stable") > count("unstable")
}
