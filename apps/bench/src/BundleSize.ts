/**
 * What a browser loads to pay: `wrapFetch` and the EVM client, bundled and minified by esbuild.
 */
import { gzipSync } from "node:zlib"

import { build } from "esbuild"

const entry = `
import * as exactEvm from "@pontage/evm/client"
import { wrapFetch } from "@pontage/fetch"
export const pay = (signer) => wrapFetch(fetch, { schemes: [exactEvm.client({ signer, network: "eip155:8453" })] })
`

/** Bytes minified, and of those compressed by gzip. */
export const measure = async (): Promise<{ readonly minified: number; readonly gzipped: number }> => {
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: import.meta.dirname },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2024",
    write: false,
    logLevel: "silent"
  })
  const code = outputFiles[0]?.contents ?? new Uint8Array()
  return { minified: code.length, gzipped: gzipSync(code).length }
}
