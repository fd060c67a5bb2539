/**
 * Loaded before everything else in a process under attack: replaces the piece that `SOURCE_MUTATION` names.
 */
import { registerHooks } from "node:module"
import { pathToFileURL } from "node:url"

import * as Schema from "effect/Schema"

import { applied, fileOf, SourceMutation, variable } from "../SourceMutation.ts"

const replacements = Schema.decodeUnknownSync(Schema.fromJsonString(SourceMutation))(process.env[variable] ?? "")
// The process under attack reads its environment strictly, and this is none of its business.
Reflect.deleteProperty(process.env, variable)

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context)
    const due = replacements.filter(({ module }) => pathToFileURL(fileOf(module)).href === url)
    if (due.length === 0) return loaded
    const { source } = loaded
    return {
      ...loaded,
      source: due.reduce(applied, typeof source === "string" ? source : new TextDecoder().decode(source))
    }
  }
})
