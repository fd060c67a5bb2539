/**
 * The list of resources of our facilitator, read by x402's own client: a resource of our shop and one of x402's come into it
 * when each is bought, and both extensions are valid for x402.
 */
import { assert, it } from "@effect/vitest"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import * as BaseSepoliaChain from "@pontage/devnet/BaseSepoliaChain"
import { freePort } from "@pontage/devnet/LoopbackServer"
import { HTTPFacilitatorClient } from "@x402/core/http"
import { ExactEvmScheme as ExactEvmServer } from "@x402/evm/exact/server"
import {
  declareDiscoveryExtension,
  type DiscoveryExtension,
  validateDiscoveryExtension,
  validateDiscoveryExtensionSpec,
  withBazaar
} from "@x402/extensions/bazaar"
import * as Effect from "effect/Effect"

import * as OurBuyer from "../../src/buyers/OurBuyer.ts"
import * as PeerBuyer from "../../src/buyers/PeerBuyer.ts"
import * as OurFacilitator from "../../src/facilitators/OurFacilitator.ts"
import { untilOnSale } from "../../src/shops/OnSale.ts"
import * as OurKoaShop from "../../src/shops/OurKoaShop.ts"
import * as PeerExpressShop from "../../src/shops/PeerExpressShop.ts"

const input = {
  query: { type: "object", properties: { unit: { enum: ["C", "F"] } } },
  example: { query: { unit: "C" } }
}

it.live(
  "lists our shop's and x402's shop's resources for x402's client",
  Effect.fnUntraced(function* () {
    const chain = yield* BaseSepoliaChain.make
    const { accounts, rpcUrl } = chain.node
    const [signer] = accounts.signers
    const [ourPort, theirPort] = [yield* freePort, yield* freePort]
    const origins = [ourPort, theirPort].map((port) => `http://127.0.0.1:${port}`)
    const { url: facilitator } = yield* OurFacilitator.start({ rpcUrl, key: signer.privateKey }, undefined, {
      discovery: { origins, allowPrivate: true }
    })
    const options = { facilitator, rpcUrl, payTo: accounts.payee.address }
    const ours = yield* OurKoaShop.start({ ...options, port: ourPort }, { route: () => ({ input }) })
    const theirs = yield* PeerExpressShop.open({ ...options, port: theirPort }, new ExactEvmServer(), {
      extensions: declareDiscoveryExtension({ input: { city: "Oslo" }, inputSchema: { properties: { city: {} } } })
    })
    yield* untilOnSale(ours.url)

    const { bazaar } = withBazaar(new HTTPFacilitatorClient({ url: facilitator })).extensions
    const list = (query: Parameters<typeof bazaar.listResources>[0] = {}) =>
      Effect.promise(() => bazaar.listResources(query))
    const listed = (total: number) => Effect.repeat(list(), { until: ({ pagination }) => pagination.total === total })
    const buy = Effect.fnUntraced(function* (make: typeof PeerBuyer.make, url: string) {
      const { key } = yield* chain.payer
      const response = yield* Effect.promise(async () => make({ key, rpcUrl, send: fetch })(url))
      assert.strictEqual(response.status, 200)
    })
    assert.deepStrictEqual(yield* list(), {
      x402Version: 2,
      items: [],
      pagination: { limit: 20, offset: 0, total: 0 }
    })
    yield* buy(OurBuyer.make, `${ours.url}/report?unit=C`)
    yield* listed(1)
    yield* buy(PeerBuyer.make, `${theirs.url}/report?city=Oslo`)
    const { items } = yield* listed(2)

    assert.deepStrictEqual(
      items.map(({ accepts, resource }) => ({ resource, payTo: accepts[0]?.payTo, extra: accepts[0]?.extra })),
      [
        { resource: `${ours.url}/report`, payTo: accounts.payee.address, extra: items[0]?.accepts[0]?.extra },
        { resource: `${theirs.url}/report`, payTo: accounts.payee.address, extra: { name: "USDC", version: "2" } }
      ]
    )
    assert.doesNotHaveAnyKeys(items[0]?.accepts[0]?.extra, ["challenge", "retryToken"])
    for (const { extensions } of items) {
      const { bazaar: extension } = extensions as { readonly bazaar: DiscoveryExtension & Record<string, unknown> }
      assert.deepStrictEqual(validateDiscoveryExtensionSpec(extension), { valid: true })
      assert.deepStrictEqual(validateDiscoveryExtension(extension), { valid: true })
    }
    const second = yield* list({ type: "http", scheme: "exact", network: BaseSepolia.network, limit: 1, offset: 1 })
    assert.deepStrictEqual(second, {
      x402Version: 2,
      items: items.slice(1),
      pagination: { limit: 1, offset: 1, total: 2 }
    })
    assert.strictEqual((yield* list({ payTo: accounts.deployer.address })).pagination.total, 0)
    assert.strictEqual((yield* list({ extensions: "bazaar" })).pagination.total, 2)
  }, Effect.scoped),
  120_000
)
