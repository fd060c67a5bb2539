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

/** Opens a sample, buys its report, and checks the goods, the receipt, the money and a free page. */
export const buyFrom = (open: (settings: ShopSettings) => Promise<SampleShop> | SampleShop) =>
  Effect.gen(function* () {
    const chain = yield* EvmTestChain.make({ payers: 1 })
    const { accounts, network, rpcUrl } = chain
    const [payer] = accounts.payers
    yield* Effect.promise(async () => {
      const server = createServer((request, response) => listener(request, response))
      let listener: RequestListener = (_request, response) => response.end()
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const facilitator = LocalFacilitator.layerMemory({
        schemes: [exactEvm.facilitator({ signer: accounts.signers[0], rpcUrl })]
      })
      const payTo = accounts.payee.address
      const shop = await open({ facilitator, origin, network, rpcUrl, payTo, secret: "s".repeat(32) })
      listener = shop.listener
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
        assert.strictEqual(settlementOf(response)?.amount, "10000")
        assert.strictEqual((await fetch(`${origin}/free`)).status, 200)
      } finally {
        server.closeAllConnections()
        server.close()
        await shop.close()
      }
    })
  }).pipe(Effect.scoped)

const packageOf = (test: string) => new URL("../", test)

/** Checks that the README of the package shows the sample's file, whole but for its first comment, and no other code. */
export const demandSample = (test: string, file = "test/ReadmeShop.ts"): void => {
  const readme = readFileSync(new URL("README.md", packageOf(test)), "utf8")
  const sample = readFileSync(new URL(file, packageOf(test)), "utf8").replace(/^\/\*\*[\s\S]*?\*\/\n/, "")
  assert.include(readme, `<!-- from ${file} -->\n\n\`\`\`ts\n${sample.trim()}\n\`\`\``)
  assert.strictEqual([...readme.matchAll(/```ts\n/g)].length, 1)
}
