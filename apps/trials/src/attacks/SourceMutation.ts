/**
 * A fault brought back: one piece of a module's source is replaced while a process under attack loads it. Nothing in the
 * product knows of it, and a fault whose piece is not found ends the process, so that none goes stale unseen.
 */
import { fileURLToPath } from "node:url"

import * as Schema from "effect/Schema"

/**
 * One replacement. Sources run as TypeScript in tests and as compiled JavaScript from the command line, so the piece must
 * stand in both: an expression without types.
 *
 * @category schemas
 */
export const Replacement = Schema.Struct({
  /** The module's path from the top of the project, without ending, `src` for both forms: `core/src/server/PaidRequest`. */
  module: Schema.String,
  piece: Schema.String,
  instead: Schema.String
})

/**
 * @category models
 */
export type Replacement = typeof Replacement.Type

/**
 * All replacements that it takes: what is held twice has to be broken twice.
 *
 * @category schemas
 */
export const SourceMutation = Schema.NonEmptyArray(Replacement)

/**
 * @category models
 */
export type SourceMutation = typeof SourceMutation.Type

/**
 * The environment variable that holds it as JSON.
 *
 * @category constants
 */
export const variable = "SOURCE_MUTATION"

const isSource = import.meta.url.endsWith(".ts")
const hook = new URL(`./MutationHook.${isSource ? "ts" : "js"}`, import.meta.url).href

/**
 * What a process needs to run from where this runs, and with the fault.
 *
 * @category constructors
 */
export const processOptions = (mutation: SourceMutation | undefined) => ({
  execArgv: [
    ...(isSource ? ["--conditions=@pontage/source"] : []),
    ...(mutation === undefined ? [] : ["--import", hook])
  ],
  environment: mutation === undefined ? {} : { [variable]: JSON.stringify(mutation) }
})

/**
 * The file of a module of the project, in the form that runs here.
 *
 * @category getters
 */
export const fileOf = (module: string): string =>
  fileURLToPath(new URL(`../../../../${isSource ? module : built(module)}.${isSource ? "ts" : "js"}`, import.meta.url))

const built = (module: string): string => module.replace("/src/", "/dist/")
