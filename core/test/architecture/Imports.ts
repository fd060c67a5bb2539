/** The imports of a file: static and dynamic ones, re-exports, types too. */
import { posix } from "node:path"

import { blanked, type SourceFile } from "./SourceText.ts"

export interface Import {
  readonly from: string
  /** As it is written. */
  readonly specifier: string
}

const patterns = [
  /\b(?:import|export)\s+(?:type\s+)?[\w$\s{},*]*?\bfrom\s*["']/g,
  /\bimport\s*["']/g,
  /\bimport\s*\(\s*["'`]/g
]

export const importsOf = ({ path, text }: SourceFile): ReadonlyArray<Import> => {
  const code = blanked(text)
  return patterns.flatMap((pattern) =>
    [...code.matchAll(pattern)].map((match) => {
      const start = match.index + match[0].length
      const specifier = text.slice(start, code.slice(start).search(/["'`]/) + start)
      return { from: path, specifier }
    })
  )
}

/** The file a relative import names, from the top. */
export const resolved = ({ from, specifier }: Import): string => posix.join(posix.dirname(from), specifier)

export const isRelative = ({ specifier }: Import): boolean => specifier.startsWith(".")

/** Every way around in circles, once, as the files along it. */
export const cyclesOf = (edges: ReadonlyMap<string, ReadonlyArray<string>>): ReadonlyArray<ReadonlyArray<string>> => {
  const done = new Set<string>()
  const trail: Array<string> = []
  const cycles: Array<ReadonlyArray<string>> = []
  const visit = (file: string): void => {
    const seenAt = trail.indexOf(file)
    if (seenAt !== -1) return void cycles.push([...trail.slice(seenAt), file])
    if (done.has(file)) return
    trail.push(file)
    for (const next of edges.get(file) ?? []) visit(next)
    trail.pop()
    done.add(file)
  }
  for (const file of edges.keys()) visit(file)
  return cycles
}
