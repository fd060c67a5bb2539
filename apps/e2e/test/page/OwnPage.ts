/** A page of a shop's own: the sample of the README of `@pontage/wallets`, bundled as it stands there but for the network. */
import { readFileSync } from "node:fs"

import { build } from "esbuild"

const root = new URL("../../../../", import.meta.url)

/** The script of the page. It pays on the local chain, in place of Base. */
export const script = async (): Promise<string> => {
  const page = readFileSync(new URL("adapters/wallets/README.md", root), "utf8")
  const sample = /```ts\n([\s\S]*?)```/.exec(page)?.[1] ?? ""
  const { outputFiles } = await build({
    stdin: {
      contents: sample.replaceAll("eip155:8453", "eip155:31337"),
      loader: "ts",
      resolveDir: new URL("apps/e2e/", root).pathname
    },
    bundle: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    conditions: ["@pontage/source"],
    write: false,
    logLevel: "silent"
  })
  return outputFiles.map(({ text }) => text).join("")
}

/** The page, which has nothing but the script. */
export const html = `<!doctype html><html lang="en"><title>Own page</title><body><script type="module" src="/own.js"></script></body></html>`
