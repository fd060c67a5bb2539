/**
 * Our shop charges less than a request's price to the published client, which copies no sum of the shop: the books of both sides and the
 * chain agree after each charge.
 */
import { assert, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { vi } from "vitest"

import { buyerOf, chainLayer, idOf, opened, paidOut, price } from "./ChannelShopTrial.ts"
import { everywhere } from "./FacilitatorPlace.ts"

type Buyer = ReturnType<typeof buyerOf>

/** Buys the metered report, and returns what the receipt says that it is charged. */
const bought = Effect.fnUntraced(function* (buyer: Buyer, url: string, query: string) {
  const response = yield* buyer.buy(`${url}?${query}`)
  const { extra } = buyer.receiptOf(response)
  return [response.status, extra?.["chargedAmount"]] as const
})

for (const { place, shared } of everywhere(chainLayer))
  layer(shared, { timeout: "15 minutes", excludeTestServices: true })(
    `a route with a charge of its own, its facilitator ${place}`,
    (it) => {
      it.effect("charges the price of the response, and its buyer signs the next voucher on top of that", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const shop = yield* opened({ claimAt: 2_501n })
            const url = `${shop.origin}/metered`
            const { key } = yield* shop.chain.payer
            const buyer = buyerOf(shop.chain.node.rpcUrl, key)
            assert.deepStrictEqual(yield* bought(buyer, url, "price=$0.0003"), [200, "300"])
            assert.deepStrictEqual(yield* bought(buyer, url, "price=$0"), [200, "0"])
            assert.deepStrictEqual(yield* bought(buyer, url, "price=$0.0012"), [200, `${price}`])
            assert.deepStrictEqual(yield* bought(buyer, url, "price=$0.0004&fail"), [500, "0"])
            assert.deepStrictEqual(yield* bought(buyer, url, "price=$0.0005"), [200, "500"])
            const id = idOf(shop, yield* buyer.channelOf(url))
            assert.deepInclude(yield* shop.ledger.find(id), { charged: 1_800n, reserved: 0n })
            // Each payment but the refused one is a request of its own: none was corrected, because the receipts said what is owed.
            assert.strictEqual(buyer.sent.length, 5)
            assert.deepStrictEqual(yield* bought(buyer, url, "price=$0.000701"), [200, "701"])
            yield* paidOut(shop, 2_501n)
          })
        )
      )

      it.effect("serves the next request although the reply to the report of one that cost nothing is late", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const [reported, replied] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
            const shop = yield* opened({
              claimAt: 500n,
              around: (facilitator) => ({
                ...facilitator,
                finish: (...end) =>
                  Effect.tap(facilitator.finish(...end), () =>
                    Effect.andThen(Deferred.succeed(reported, undefined), Deferred.await(replied))
                  )
              })
            })
            yield* Effect.addFinalizer(() => Deferred.succeed(replied, undefined))
            const url = `${shop.origin}/metered`
            const { key } = yield* shop.chain.payer
            const buyer = buyerOf(shop.chain.node.rpcUrl, key)
            assert.deepStrictEqual(yield* bought(buyer, url, "price=$0"), [200, "0"])
            yield* Deferred.await(reported)
            assert.deepStrictEqual(yield* bought(buyer, url, "price=$0.0005"), [200, "500"])
            assert.strictEqual(buyer.sent.length, 2)
            yield* paidOut(shop, 500n)
          })
        )
      )

      it.effect("charges the whole price where its function gives none, and says so in the log", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const log = yield* Effect.acquireRelease(
              Effect.sync(() => vi.spyOn(console, "log").mockImplementation(() => undefined)),
              (spy) => Effect.sync(() => spy.mockRestore())
            )
            const shop = yield* opened({ claimAt: price })
            const { key } = yield* shop.chain.payer
            const buyer = buyerOf(shop.chain.node.rpcUrl, key)
            assert.deepStrictEqual(yield* bought(buyer, `${shop.origin}/metered`, "price=much"), [200, `${price}`])
            yield* paidOut(shop, price)
            const lines = log.mock.calls.flat().map(String).join("\n")
            assert.match(lines, /GET \/metered: charge: .*the whole price was charged/s)
          })
        )
      )
    }
  )
