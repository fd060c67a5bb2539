/**
 * What a browser loads to pay: `wrapFetch` and the EVM client, bundled from the sources and minified by esbuild.
 */
import { gzipSync } from "node:zlib"

import { build } from "esbuild"

const entry = `
import * as exactEvm from "@pontage/evm/client"
import { wrapFetch } from "@pontage/fetch"
export const pay = (signer) => wrapFetch(fetch, { schemes: [exactEvm.client({ signer, network: "eip155:8453" })] })
`

/**
 * What the same costs with x402's packages of November 2026 (`wrapFetchWithPayment` and its `exact` on EVM, bundled in the
 * same way): bytes minified and compressed.
 */
export const peerGzipped = 113_033

/** The most that ours may be, minified and compressed: what it has come down to and 2 % above. */
export const budget = 32_100

/** Bytes minified, and of those compressed by gzip. */
export const measure = async (): Promise<{ readonly minified: number; readonly gzipped: number }> => {
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: import.meta.dirname },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2024",
    conditions: ["@pontage/source"],
    write: false,
    logLevel: "silent"
  })
  const code = outputFiles[0]?.contents ?? new Uint8Array()
  return { minified: code.length, gzipped: gzipSync(code).length }
}
