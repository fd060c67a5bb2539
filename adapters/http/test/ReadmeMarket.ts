import { once } from "node:events"
/**
 * A market on a local chain for the samples of the adapters' READMEs: each is opened behind a real server, bought from
 * by the paying `fetch`, and compared with its README.
 */
import { readFileSync } from "node:fs"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"

import { LocalFacilitator, type Seller } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { EvmTestChain } from "@pontage/evm/testing"
import { settlementOf, wrapFetch } from "@pontage/fetch"
import * as Effect from "effect/Effect"
import { assert } from "vitest"

/** The settings of a sample's shop. */
export interface ShopSettings extends Pick<Seller.SellerOptions, "facilitator" | "origin"> {
  readonly secret: string
  readonly rpcUrl: string
  readonly network: string
  readonly payTo: string
}

/** A sample's application. */
export interface SampleShop {
  readonly listener: RequestListener
  readonly ready: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Opens a sample, buys its report, checks the goods and a free page, and returns the amount on the receipt. */
export const buyFrom = (open: (settings: ShopSettings) => Promise<SampleShop> | SampleShop) =>
  Effect.gen(function* () {
    const chain = yield* EvmTestChain.make({ payers: 1 })
    const { accounts, network, rpcUrl } = chain
    const [payer] = accounts.payers
    return yield* Effect.promise(async () => {
      const server = createServer()
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const facilitator = LocalFacilitator.layerMemory({
        schemes: [exactEvm.facilitator({ signer: accounts.signers[0], rpcUrl })]
      })
      const payTo = accounts.payee.address
      const shop = await open({ facilitator, origin, network, rpcUrl, payTo, secret: "s".repeat(32) })
      server.on("request", shop.listener)
      try {
        await shop.ready()
        const unpaid = await fetch(`${origin}/report`)
        assert.strictEqual(unpaid.status, 402)
        const paying = wrapFetch(fetch, {
          schemes: [exactEvm.client({ signer: payer, network })],
          limits: { perRequest: "$0.05" }
        })
        const response = await paying(`${origin}/report`)
        assert.strictEqual(response.status, 200)
        assert.deepStrictEqual(await response.json(), { report: "It will rain.", paidBy: payer.address })
        assert.strictEqual((await fetch(`${origin}/free`)).status, 200)
        return settlementOf(response)?.amount
      } finally {
        server.closeAllConnections()
        server.close()
        await shop.close()
      }
    })
  }).pipe(Effect.scoped, Effect.runPromise)

const packageOf = (test: string) => new URL("../", test)

/** Whether the README of a test's package shows the sample's file, whole but for its first comment, and no other code. */
export const isShown = (test: string): boolean => {
  const read = (path: string) => readFileSync(new URL(path, packageOf(test)), "utf8")
  const sample = read("test/ReadmeShop.ts").replace(/^\/\*\*[\s\S]*?\*\/\n/, "")
  const page = read("README.md")
  const shown = `<!-- from test/ReadmeShop.ts -->\n\n\`\`\`ts\n${sample.trim()}\n\`\`\``
  return page.includes(shown) && page.split("```ts\n").length === 2
}
