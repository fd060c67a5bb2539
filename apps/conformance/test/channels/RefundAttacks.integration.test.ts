/** Refunds that a stranger asks for, refunds without worth, and shops that lie about refunds. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { buyerOf, chainLayer, idOf, paidOut, price } from "./ChannelShopTrial.ts"
import { bought, deposit, funded, ours } from "./RefundTrial.ts"

/** Whether a payment's header asks for a refund. */
const isRefund = (header: string): boolean => {
  const { payload } = JSON.parse(header) as { readonly payload: string }
  return Buffer.from(payload, "base64").toString().includes('"type":"refund"')
}

layer(chainLayer, { timeout: "15 minutes", excludeTestServices: true })("refunds of our shop under attack", (it) => {
  it.effect("a stranger who has a channel refunded by a voucher of the chain costs its payer no purchase", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { payer, shop, spent } = yield* funded({ claimAt: 3n * price })
        const buyer = ours(shop, payer.key)
        yield* bought(buyer, shop.url, 3)
        yield* paidOut(shop, 3n * price)
        // The same key signs the same voucher that the claim has named, which a stranger copies.
        const { amount } = yield* Effect.promise(() => ours(shop, payer.key).refund(shop.url))
        assert.strictEqual(amount, deposit - 3n * price)
        yield* bought(buyer, shop.url, 2)
        assert.isBelow(Number(yield* spent), Number(2n * deposit))
        assert.strictEqual(shop.runs(), 5)
      })
    )
  )

  it.effect(
    "a refund below the least is refused and holds nothing back, and several at once give no unit back twice",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { payer, shop, spent } = yield* funded({ watch: { leastClaim: 10n * price } })
          const buyer = buyerOf(shop.chain.node.rpcUrl, payer.key)
          yield* bought(buyer.pay, shop.url, 1)
          const ask = (amount: bigint) =>
            Effect.result(Effect.tryPromise(() => buyer.scheme.refund(shop.url, { amount: `${amount}` })))
          assert.strictEqual((yield* ask(9n * price))._tag, "Failure")
          assert.strictEqual(yield* spent, deposit)
          const several = yield* Effect.all([ask(60n * price), ask(60n * price), ask(60n * price)], {
            concurrency: "unbounded"
          })
          assert.isTrue(several.some(({ _tag }) => _tag === "Success"))
          assert.isAtLeast(Number(yield* spent), Number(price))
          yield* bought(buyer.pay, shop.url, 1)
        })
      )
  )

  it.effect("a shop that tells of a refund which the chain does not show is not believed", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { payer, shop } = yield* funded()
        const receipts = new Headers()
        const lying: typeof fetch = async (input, init) => {
          const asked = new Request(input, init).headers.get("x-payment")
          if (asked !== null && isRefund(asked)) return new Response("{}", { headers: receipts })
          const response = await fetch(input, init)
          const receipt = response.headers.get("x-payment-response")
          if (receipt !== null) receipts.set("x-payment-response", receipt)
          return response
        }
        const buyer = ours(shop, payer.key, lying)
        yield* bought(buyer, shop.url, 1)
        const failure = yield* Effect.flip(Effect.tryPromise(() => buyer.refund(shop.url)))
        assert.include(String(failure.cause), "the node does not show it")
      })
    )
  )

  it.effect("a refund waits while the signer's coin would not pay for claims, and holds nothing back", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { payer, shop, spent } = yield* funded()
        const { node } = shop.chain
        const buyer = buyerOf(node.rpcUrl, payer.key)
        yield* bought(buyer.pay, shop.url, 1)
        const config = yield* buyer.channelOf(shop.url)
        const coin = yield* Effect.promise(() => node.client.getBalance({ address: shop.sender.address }))
        yield* node.setBalance(shop.sender.address, 10n ** 12n)
        const refused = yield* Effect.flip(Effect.tryPromise(() => buyer.scheme.refund(shop.url)))
        assert.include(String(refused.cause), "503")
        assert.deepInclude(yield* shop.ledger.find(idOf(shop, config)), { refunds: [] })
        yield* node.setBalance(shop.sender.address, coin)
        yield* Effect.promise(() => buyer.scheme.refund(shop.url))
        assert.strictEqual(yield* spent, price)
      })
    )
  )
})
