/**
 * Refunds that payers ask our shop for, by the published client and by ours: what was charged stays the shop's, the rest comes back, and
 * no draw is granted on money that is on its way out.
 */
import { assert, layer } from "@effect/vitest"
import { MemoryChannelStore } from "@pontage/core"
import * as Effect from "effect/Effect"

import { buyerOf, chainLayer, idOf, paidOut, price, standing } from "./ChannelShopTrial.ts"
import { everywhere } from "./FacilitatorPlace.ts"
import { bought, deposit, funded, ours } from "./RefundTrial.ts"

for (const { place, shared } of everywhere(chainLayer))
  layer(shared, { timeout: "15 minutes", excludeTestServices: true })(
    `refunds of our shop, its facilitator ${place}`,
    (it) => {
      it.effect("the published client gets all that is not charged, and deposits anew for its next request", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const { payer, shop, spent } = yield* funded()
            const buyer = buyerOf(shop.chain.node.rpcUrl, payer.key)
            yield* bought(buyer.pay, shop.url, 3)
            const refund = yield* Effect.promise(() => buyer.scheme.refund(shop.url))
            assert.isTrue(refund.success)
            assert.match(refund.transaction, /^0x[0-9a-f]{64}$/u)
            assert.strictEqual(refund.amount, `${deposit - 3n * price}`)
            assert.strictEqual(shop.runs(), 3)
            assert.strictEqual(yield* spent, 3n * price)
            const config = yield* buyer.channelOf(shop.url)
            assert.deepStrictEqual(yield* standing(shop, config), [3n * price, 3n * price])
            yield* paidOut(shop, 3n * price)
            yield* bought(buyer.pay, shop.url, 1)
            assert.deepStrictEqual(yield* standing(shop, config), [3n * price + deposit, 3n * price])
          })
        )
      )

      it.effect("the published client gets a part, and goes on with the rest", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const { payer, shop, spent } = yield* funded()
            const buyer = buyerOf(shop.chain.node.rpcUrl, payer.key)
            yield* bought(buyer.pay, shop.url, 2)
            const refund = yield* Effect.promise(() => buyer.scheme.refund(shop.url, { amount: `${95n * price}` }))
            assert.strictEqual(refund.amount, `${95n * price}`)
            assert.strictEqual(yield* spent, 5n * price)
            const config = yield* buyer.channelOf(shop.url)
            yield* bought(buyer.pay, shop.url, 3)
            assert.deepStrictEqual(yield* standing(shop, config), [5n * price, 2n * price])
          })
        )
      )

      it.effect(
        "a buyer of ours is refunded, also by a voucher that another life of it has signed, and then nothing is left",
        () =>
          Effect.scoped(
            Effect.gen(function* () {
              const { payer, shop, spent } = yield* funded()
              yield* bought(ours(shop, payer.key), shop.url, 4)
              const forgetful = ours(shop, payer.key)
              const { amount } = yield* Effect.promise(() => forgetful.refund(shop.url))
              assert.strictEqual(amount, deposit - 4n * price)
              assert.strictEqual(yield* spent, 4n * price)
              assert.strictEqual(shop.runs(), 4)
              const again = yield* Effect.flip(Effect.tryPromise(() => forgetful.refund(shop.url)))
              assert.include(String(again.cause), "nothing is left to refund")
              yield* bought(forgetful, shop.url, 1)
              assert.strictEqual(yield* spent, 4n * price + deposit)
            })
          )
      )

      it.effect(
        "no draw is granted on money of a refund whose process has died before it was sent, and asking again sends it",
        () =>
          Effect.scoped(
            Effect.gen(function* () {
              const ledger = MemoryChannelStore.make()
              const { payer, shop, spent } = yield* funded({ ledger })
              const buyer = buyerOf(shop.chain.node.rpcUrl, payer.key)
              yield* bought(buyer.pay, shop.url, 2)
              const config = yield* buyer.channelOf(shop.url)
              const channelId = idOf(shop, config)
              const known = yield* ledger.find(channelId)
              if (known?.voucher === undefined) return assert.fail("the ledger has no voucher")
              const held = yield* ledger.refund({
                channelId,
                amount: 97n * price,
                maximum: known.signed,
                voucher: known.voucher
              })
              assert.strictEqual(held?._tag, "Held")
              yield* bought(buyer.pay, shop.url, 1)
              const refused = yield* buyer.buy(shop.url)
              const refunded = yield* Effect.promise(() => buyer.scheme.refund(shop.url))
              assert.strictEqual(refused.status, 402)
              assert.strictEqual(refunded.amount, `${97n * price}`)
              assert.strictEqual(yield* spent, 3n * price)
              assert.strictEqual(shop.runs(), 3)
              return undefined
            })
          )
      )
    }
  )
