/**
 * Loaded before everything else in a process that runs modules with decorators from their sources: Node takes away types,
 * but knows no decorators.
 */
import { registerHooks } from "node:module"

import { transformSync } from "esbuild"

const withDecorators = /^@[A-Z][A-Za-z]*\(/m

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context)
    if (!url.endsWith(".ts") || url.includes("/node_modules/")) return loaded
    const { source } = loaded
    const text = typeof source === "string" ? source : new TextDecoder().decode(source)
    if (!withDecorators.test(text)) return loaded
    const options = {
      loader: "ts",
      target: "node20",
      tsconfigRaw: { compilerOptions: { experimentalDecorators: true } }
    } as const
    return { ...loaded, format: "module", source: transformSync(text, options).code }
  }
})
