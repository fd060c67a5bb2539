/**
 * Bundles the page's scripts: one that every page loads, and one for each family that only a chosen wallet loads. Their imports of each
 * other are written as `@paywall/<name>`, and get the page's own address when they are served.
 */
import { join } from "node:path"

import { build } from "esbuild"

/** The bundle: the script that the page loads first, and all of them by name. */
export interface PageBundle {
  readonly entry: string
  readonly files: ReadonlyMap<string, string>
}

const browser = join(import.meta.dirname, "../src/browser")

/** `sources`: whether other packages are read from their sources instead of their `dist`. */
export const bundle = async (sources: boolean): Promise<PageBundle> => {
  const { outputFiles } = await build({
    entryPoints: { app: join(browser, "PageApp.ts") },
    outdir: "/",
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    conditions: sources ? ["@pontage/source"] : [],
    legalComments: "none",
    write: false,
    logLevel: "silent"
  })
  const files = new Map(
    outputFiles.map(({ path, text }) => [path.slice(1), text.replaceAll(/(["'])\.\/(?=[\w-]+\.js\1)/g, "$1@paywall/")])
  )
  const entry = [...files.keys()].find((name) => name.startsWith("app-"))
  if (entry === undefined) throw new Error("the bundle has no script app")
  return { entry, files }
}
