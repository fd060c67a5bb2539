/**
 * A restored fault: one piece of a module's source is replaced while a process under attack loads it. Nothing in the
 * product knows of it, and a fault whose piece is not found ends the process, so that none goes stale unseen.
 */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

import * as BundledProgram from "@pontage/devnet/BundledProgram"
import * as Schema from "effect/Schema"

/**
 * One replacement. Sources run as TypeScript in tests and as compiled JavaScript from the command line, so the piece must
 * stand in both: an expression without types.
 */
export const Replacement = Schema.Struct({
  /** The module's path from the top of the project, without ending, `src` for both forms: `core/src/server/PaidRequest`. */
  module: Schema.String,
  piece: Schema.String,
  instead: Schema.String
})

export type Replacement = typeof Replacement.Type

/** All replacements that the fault takes: a property that is protected twice has to be broken twice. */
export const SourceMutation = Schema.NonEmptyArray(Replacement)

export type SourceMutation = typeof SourceMutation.Type

/** The environment variable that holds it as JSON. */
export const variable = "SOURCE_MUTATION"

const isSource = import.meta.url.endsWith(".ts")
const hookAt = (name: string): string => new URL(`./stage/${name}.${isSource ? "ts" : "js"}`, import.meta.url).href

/** Arguments and environment of a process that runs the same form of the sources as this one, with the fault. */
export const processOptions = (mutation: SourceMutation | undefined, decorators: boolean) => {
  const conditions = isSource ? ["--conditions=@pontage/source"] : []
  // The hook that is loaded last sees a source last.
  const last = isSource && decorators ? ["--import", hookAt("DecoratorHook")] : []
  if (mutation === undefined) return { execArgv: [...conditions, ...last], environment: {} }
  // A process loads only some of the modules, so all pieces are checked here.
  for (const one of mutation) applied(readFileSync(fileOf(one.module), "utf8"), one)
  const execArgv = [...conditions, "--import", hookAt("MutationHook"), ...last]
  return { execArgv, environment: { [variable]: JSON.stringify(mutation) } }
}

/**
 * File, arguments and environment of a process that runs this module of the project with the fault. Without a fault a source runs
 * as a bundle, which starts sooner.
 */
export const program = (module: string, mutation: SourceMutation | undefined, decorators = false) => {
  const file = fileOf(module)
  // The peers' programs find their packages beside them alone.
  const isBundled = isSource && mutation === undefined && !module.startsWith("apps/conformance/")
  if (!isBundled) return { file, ...processOptions(mutation, decorators) }
  return { file: BundledProgram.fileOf(file, { decorators }), ...processOptions(undefined, false) }
}

/** The source with the fault. Throws where the piece does not stand in it exactly once: then the fault is stale. */
export const applied = (text: string, { instead, module, piece }: Replacement): string => {
  const count = text.split(piece).length - 1
  if (count !== 1) throw new Error(`the fault in ${module} expects its piece once, found it ${count} times: ${piece}`)
  return text.replace(piece, () => instead)
}

/** The file of a module of the project, in the form that runs here. */
export const fileOf = (module: string): string =>
  fileURLToPath(new URL(`../../../../${isSource ? module : built(module)}.${isSource ? "ts" : "js"}`, import.meta.url))

const built = (module: string): string => module.replace("/src/", "/dist/")
