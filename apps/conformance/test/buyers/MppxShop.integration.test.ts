/**
 * The Machine Payments Protocol's own shop at our facilitator, on the chain: our buyer pays it by the x402 half of its 402,
 * its own client by its challenge, and a credential that is sent again buys nothing more.
 */
import { assert, layer } from "@effect/vitest"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import * as BaseSepoliaChain from "@pontage/devnet/BaseSepoliaChain"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as MppxBuyer from "../../src/buyers/MppxBuyer.ts"
import * as OurBuyer from "../../src/buyers/OurBuyer.ts"
import * as OurFacilitator from "../../src/facilitators/OurFacilitator.ts"
import * as MppxShop from "../../src/shops/MppxShop.ts"

const opened = Effect.gen(function* () {
  const chain = yield* BaseSepoliaChain.make
  const { accounts, rpcUrl } = chain.node
  const { url: facilitator } = yield* OurFacilitator.start({ rpcUrl, key: accounts.signers[0].privateKey })
  const shop = yield* MppxShop.start({ facilitator, rpcUrl, payTo: accounts.payee.address })
  return { chain, shop }
})

class Market extends Context.Service<Market, Effect.Success<typeof opened>>()("Market") {}

const buyers = { "our client": OurBuyer, mppx: MppxBuyer } as const

layer(Layer.effect(Market, opened), { excludeTestServices: true, timeout: "15 minutes" })("a shop of mppx", (it) => {
  for (const name of ["our client", "mppx"] as const) {
    it.effect(`sells to ${name} twice, each time by one transfer and one run`, () =>
      Effect.gen(function* () {
        const { chain, shop } = yield* Market
        const { address, key } = yield* chain.payer
        const buy = buyers[name].make({ key, rpcUrl: chain.node.rpcUrl, send: fetch })
        const before = shop.goods.runs["/report"]
        for (let time = 0; time < 2; time++) {
          const response = yield* Effect.promise(() => buy(`${shop.url}/report`))
          assert.strictEqual(response.status, 200)
          assert.isDefined(buyers[name].receiptOf(response))
        }
        assert.strictEqual(shop.goods.runs["/report"] - before, 2)
        const values = (yield* chain.spent(address)).map(({ value }) => value)
        assert.deepStrictEqual(values, [BaseSepolia.amount, BaseSepolia.amount])
      })
    )
  }

  it.effect("sells nothing more for a credential that is sent again, on its path or another", () =>
    Effect.gen(function* () {
      const { chain, shop } = yield* Market
      const { address, key } = yield* chain.payer
      let authorization = ""
      const send: typeof fetch = (input, init) => {
        const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined))
        authorization = headers.get("authorization") ?? authorization
        return fetch(input, init)
      }
      yield* Effect.promise(() => MppxBuyer.make({ key, rpcUrl: chain.node.rpcUrl, send })(`${shop.url}/report`))
      const before = { ...shop.goods.runs }
      for (const path of ["/report", "/other"]) {
        const { status } = yield* Effect.promise(() => fetch(`${shop.url}${path}`, { headers: { authorization } }))
        assert.strictEqual(status, 402)
      }
      assert.deepStrictEqual(shop.goods.runs, before)
      assert.lengthOf(yield* chain.spent(address), 1)
    })
  )
})
