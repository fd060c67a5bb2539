/**
 * The budget of what a browser loads to pay, from the sources as they are now, built or not.
 */
import { gzipSync } from "node:zlib"

import { assert, describe, it } from "@effect/vitest"
import { build } from "esbuild"

const gzippedSize = async (
  extra: { readonly imports: string; readonly options: string },
  client: "client" | "signerClient" = "signerClient"
): Promise<number> =>
  gzipSync(
    await bundled(`
    import * as exactEvm from "@pontage/evm/client"
    import { wrapFetch } from "@pontage/fetch"
    ${extra.imports}
    export const pay = (signer) =>
      wrapFetch(fetch, { schemes: [exactEvm.${client}({ signer, network: "eip155:8453" })], ${extra.options} })
  `)
  ).length

const bundled = async (contents: string): Promise<Uint8Array> => {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2024",
    conditions: ["@pontage/source"],
    write: false,
    logLevel: "silent"
  })
  return outputFiles[0]?.contents ?? new Uint8Array()
}

/** `wrapFetchWithPayment` and its `exact` on EVM, of x402's packages of November 2026, bundled in the same way. */
const peer = 113_033

/**
 * Each is what it has come down to, and 1 % above. 2.4 kB of it are tables (Circle's 37 deployments of USDC, the names of networks),
 * 1.4 kB are Keccak-256, by which a payment of the Machine Payments Protocol is bound, 2.6 kB the dialect of that protocol, and 1.6 kB payments by Permit2; `client` has 3.0 kB more than `signerClient`, user operations of smart accounts and the proof of the guard that ends them. 0.8 kB keep the
 * books of payment channels, whose scheme is not part of it; 0.3 kB compare signed receipts with the purchase, 0.3 kB keep top-ups, which are made by `topUpEvm` alone, and 0.2 kB end
 * a refund's requests with its call. 1.2 kB follow a redirect that was bought, keep a response whose caller gives up while it is booked, and watch its body. The
 * client on TON alone took 142.8 kB with `@ton/core`.
 */
const budget = { plain: 49_610, withAccounts: 52_890, withJournal: 53_090, ton: 47_500 }

describe("the code that a browser loads to pay", () => {
  it("is less than half of what a peer's client takes", async () => {
    const size = await gzippedSize({ imports: "", options: "" })
    assert.isAtMost(size, budget.plain)
    assert.isAtMost(budget.plain, peer / 2)
    assert.isAtMost(await gzippedSize({ imports: "", options: "" }, "client"), budget.withAccounts)
    assert.isAbove(size, 20_000, "it is the whole client that was measured")
  })

  it("is little more with a journal in IndexedDB", async () => {
    const imports = 'import { indexedDbJournal } from "@pontage/fetch/browser"'
    assert.isAtMost(await gzippedSize({ imports, options: "journal: indexedDbJournal()" }), budget.withJournal)
  })

  it("takes on TON no library that needs Buffer, and less than half of what that one took", async () => {
    const code = await bundled('export { client } from "@pontage/ton/client"')
    assert.isAtMost(gzipSync(code).length, budget.ton)
    assert.notMatch(new TextDecoder().decode(code), /\bBuffer\b/)
  })

  it("holds no import of Node, whatever of the core is taken", async () => {
    const code = new TextDecoder().decode(await bundled('export * from "@pontage/core"'))
    assert.include(code, "facilitator", "it is the whole core that was looked at")
    assert.notMatch(code, /["'`]node:https?["'`]/)
  })
})
