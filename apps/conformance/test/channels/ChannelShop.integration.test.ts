/**
 * Our shop sells by payment channels to the published client, with our facilitator and its ledger in the shop's process: the books of
 * both sides are held against the chain.
 */
import { assert, layer } from "@effect/vitest"
import { decodePaymentSignatureHeader } from "@x402/core/http"
import * as Effect from "effect/Effect"

import { beginWithdrawal, buyerOf, chainLayer, opened, paidOut, price, standing } from "./ChannelShopTrial.ts"
import { everywhere } from "./FacilitatorPlace.ts"

const deposit = 100n * price

/** Buys. A request that lost its turn on a busy machine was neither run nor charged, and is repeated. */
const bought = (buyer: ReturnType<typeof buyerOf>, url: string) =>
  Effect.repeat(buyer.buy(url), { until: ({ status }) => status === 200, times: 20 })

for (const { place, shared } of everywhere(chainLayer))
  layer(shared, { timeout: "15 minutes", excludeTestServices: true })(
    `our shop of channels, its facilitator ${place}`,
    (it) => {
      it.effect("one deposit buys twenty-one requests, which are claimed and paid out once they are worth it", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const shop = yield* opened({ claimAt: 21n * price })
            const payer = yield* shop.chain.payer
            const buyer = buyerOf(shop.chain.node.rpcUrl, payer.key)
            const before = yield* shop.chain.balanceOf(payer.address)
            for (let request = 1; request <= 21; request++) {
              const response = yield* buyer.buy(shop.url)
              assert.strictEqual(response.status, 200)
              const { extra, success, transaction } = buyer.receiptOf(response)
              assert.isTrue(success)
              assert.strictEqual(transaction !== "", request === 1)
              assert.strictEqual(extra?.["chargedAmount"], `${price}`)
            }
            yield* paidOut(shop, 21n * price)
            assert.strictEqual(shop.runs(), 21)
            assert.strictEqual(yield* shop.chain.balanceOf(payer.address), before - deposit)
            assert.deepStrictEqual(yield* standing(shop, yield* buyer.channelOf(shop.url)), [deposit, 21n * price])
            // The claim is known: the next voucher goes on top of it.
            assert.strictEqual((yield* buyer.buy(shop.url)).status, 200)
          })
        )
      )

      it.effect("its watch claims and pays out by its own least sums, below the facilitator's least price", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const shop = yield* opened({ claimAt: price, minimumPrice: "$0.05" })
            const { key } = yield* shop.chain.payer
            const buyer = buyerOf(shop.chain.node.rpcUrl, key)
            for (const requests of [1n, 2n]) {
              assert.strictEqual((yield* buyer.buy(shop.url)).status, 200)
              yield* paidOut(shop, requests * price)
            }
          })
        )
      )

      it.effect(
        "a correction's offer has the token of the corrected request, which so keeps its turn by either offer",
        () =>
          Effect.scoped(
            Effect.gen(function* () {
              const shop = yield* opened({ claimAt: 1_000n * price })
              const { key } = yield* shop.chain.payer
              const buyer = buyerOf(shop.chain.node.rpcUrl, key)
              for (let request = 0; request < 2; request++) assert.strictEqual((yield* buyer.buy(shop.url)).status, 200)
              const spent = buyer.sent.at(-1) ?? ""
              const tokenOf = (headers: Readonly<Record<string, string>>) =>
                Effect.promise(async () => {
                  const { accepts, error } = buyer.refusalOf(await fetch(shop.url, { headers }))
                  return { token: accepts[0]?.extra["retryToken"], error }
                })
              const unpaid = yield* tokenOf({})
              const corrected = yield* tokenOf({ "payment-signature": spent })
              assert.match(corrected.error ?? "", /cumulative_amount_mismatch/)
              assert.strictEqual(corrected.token, decodePaymentSignatureHeader(spent).accepted.extra["retryToken"])
              assert.notStrictEqual(corrected.token, unpaid.token)
            })
          )
      )

      for (const together of [4, 16]) {
        it.effect(`${together} requests at once on one channel are all answered, each charged once`, () =>
          Effect.scoped(
            Effect.gen(function* () {
              const shop = yield* opened({ claimAt: BigInt(together + 1) * price })
              const payer = yield* shop.chain.payer
              const buyer = buyerOf(shop.chain.node.rpcUrl, payer.key)
              assert.strictEqual((yield* buyer.buy(shop.url)).status, 200)
              const responses = yield* Effect.forEach(Array.from({ length: together }), () => bought(buyer, shop.url), {
                concurrency: "unbounded"
              })
              assert.deepStrictEqual(
                responses.map(({ status }) => status),
                Array.from({ length: together }, () => 200)
              )
              assert.strictEqual(shop.runs(), together + 1)
              yield* paidOut(shop, BigInt(together + 1) * price)
            })
          )
        )
      }

      it.effect("requests that open a channel at once pay into it once", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const shop = yield* opened({ claimAt: 4n * price })
            const payer = yield* shop.chain.payer
            const buyer = buyerOf(shop.chain.node.rpcUrl, payer.key)
            const responses = yield* Effect.forEach(Array.from({ length: 4 }), () => bought(buyer, shop.url), {
              concurrency: "unbounded"
            })
            const served = responses.filter(({ status }) => status === 200).length
            assert.strictEqual(shop.runs(), served)
            const [balance] = yield* standing(shop, yield* buyer.channelOf(shop.url))
            assert.strictEqual(balance, deposit)
            assert.strictEqual(served, 4)
          })
        )
      )

      it.effect("a run that fails is not charged, and a buyer without its memory is told the channel's sums", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const shop = yield* opened({ claimAt: 4n * price })
            const payer = yield* shop.chain.payer
            const buyer = buyerOf(shop.chain.node.rpcUrl, payer.key)
            for (let request = 0; request < 2; request++) assert.strictEqual((yield* buyer.buy(shop.url)).status, 200)
            assert.strictEqual((yield* buyer.buy(`${shop.url}?fail`)).status, 500)
            assert.strictEqual((yield* buyer.buy(shop.url)).status, 200)
            const forgetful = buyerOf(shop.chain.node.rpcUrl, payer.key)
            assert.strictEqual((yield* forgetful.buy(shop.url)).status, 200)
            yield* paidOut(shop, 4n * price)
          })
        )
      )

      it.effect(
        "a withdrawal is overtaken by the claim of what was sold, and no request is served once it was seen",
        () =>
          Effect.scoped(
            Effect.gen(function* () {
              const shop = yield* opened({ claimAt: 1_000n * price })
              const payer = yield* shop.chain.payer
              const buyer = buyerOf(shop.chain.node.rpcUrl, payer.key)
              for (let request = 0; request < 3; request++) assert.strictEqual((yield* buyer.buy(shop.url)).status, 200)
              const config = yield* buyer.channelOf(shop.url)
              yield* beginWithdrawal(shop, config, deposit)
              yield* paidOut(shop, 3n * price)
              assert.strictEqual((yield* buyer.buy(shop.url)).status, 402)
              assert.strictEqual(shop.runs(), 3)
              assert.deepStrictEqual(yield* standing(shop, config), [deposit, 3n * price])
            })
          )
      )
    }
  )
