/**
 * The code that a browser loads to pay: our wrapped `fetch` with the EVM client, and the peer's, bundled from our sources and minified
 * by esbuild.
 */
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"

import { build } from "esbuild"

import type { Row } from "../Row.ts"

const ours = `
import * as exactEvm from "@pontage/evm/client"
import { wrapFetch } from "@pontage/fetch"
export const pay = (signer) => wrapFetch(fetch, { schemes: [exactEvm.signerClient({ signer, network: "eip155:8453" })] })
`

const onTon = `export { client } from "@pontage/ton/client"`

/** As its README writes it. */
const theirs = `
import { ExactEvmScheme } from "@x402/evm/exact/client"
import { wrapFetchWithPayment, x402Client } from "@x402/fetch"
export const pay = (signer) => wrapFetchWithPayment(fetch, new x402Client().register("eip155:*", new ExactEvmScheme(signer)))
`

/** Both sizes of both, in kilobytes. The peer's packages are those of the conformance app. */
export const measure = async (): Promise<ReadonlyArray<Row>> => {
  const mine = await sizesOf(ours, import.meta.dirname)
  const peers = await sizesOf(theirs, fileURLToPath(new URL("../../../conformance/src", import.meta.url)))
  const ton = await sizesOf(onTon, import.meta.dirname)
  const than = "the peer's"
  return [
    {
      ...row("ours", "minified", mine.minified),
      ratios: [{ than, ratio: peers.minified / mine.minified, target: 3 }]
    },
    row("the peer's", "minified", peers.minified),
    {
      ...row("ours", "min+gzip", mine.gzipped),
      note: "target at most 40",
      ratios: [{ than, ratio: peers.gzipped / mine.gzipped, target: 3 }]
    },
    row("the peer's", "min+gzip", peers.gzipped),
    { name: "scheme client of TON alone, ours, min+gzip", value: ton.gzipped / 1024, unit: "KB" }
  ]
}

const row = (who: string, how: string, bytes: number): Row => ({
  name: `client bundle with EVM, ${who}, ${how}`,
  value: bytes / 1024,
  unit: "KB"
})

const sizesOf = async (contents: string, resolveDir: string) => {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir },
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
