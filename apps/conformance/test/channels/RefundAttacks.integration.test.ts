/** Refunds that a stranger asks for, refunds without worth, and shops that lie about refunds. */
import { assert, layer } from "@effect/vitest"
import { x402Client, x402HTTPClient } from "@x402/fetch"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import { buyerOf, chainLayer, idOf, paidOut, price } from "./ChannelShopTrial.ts"
import { bought, deposit, funded, ours } from "./RefundTrial.ts"

const Sent = Schema.fromJsonString(
  Schema.Struct({
    accepted: Schema.Json,
    payload: Schema.Struct({
      channelConfig: Schema.Json,
      voucher: Schema.Struct({ channelId: Schema.String, maxClaimableAmount: Schema.String, signature: Schema.String })
    })
  })
)

/** A payment that was sent. */
const sentIn = (header: string | undefined) =>
  Schema.decodeSync(Sent)(Buffer.from(header ?? "", "base64").toString("utf8"))

const reading = new x402HTTPClient(new x402Client())

/** Presents the voucher of a payment that was sent, as a message of this type; resolves with the status and the voucher that the answer names. */
const presented = async (url: string, type: "refund" | "voucher", { accepted, payload }: typeof Sent.Type) => {
  const message = { x402Version: 2, accepted, payload: { ...payload, type } }
  const header = Buffer.from(JSON.stringify(message)).toString("base64")
  const response = await fetch(url, { headers: { "PAYMENT-SIGNATURE": header } })
  const refusal = reading.getPaymentRequiredResponse((name) => response.headers.get(name))
  return { status: response.status, told: refusal.accepts[0]?.extra["voucherState"] }
}

const VoucherState = Schema.Struct({ signedMaxClaimable: Schema.String, signature: Schema.String })

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
    "a stranger with a voucher of the chain is told by no refusal of a voucher that may still buy something",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          let attack: (() => Promise<void>) | undefined
          const { payer, shop } = yield* funded({ claimAt: 2n * price, meanwhile: async () => attack?.() })
          const buyer = buyerOf(shop.chain.node.rpcUrl, payer.key)
          yield* bought(buyer.pay, shop.url, 2)
          yield* paidOut(shop, 2n * price)
          const claimed = sentIn(buyer.sent.at(-1))
          yield* bought(buyer.pay, shop.url, 1)
          const charged = sentIn(buyer.sent.at(-1)).payload.voucher
          const answers: Array<Awaited<ReturnType<typeof presented>>> = []
          attack = async () => {
            const refused = await presented(shop.url, "refund", claimed)
            const { signature, signedMaxClaimable } = Schema.decodeUnknownSync(VoucherState)(refused.told)
            const voucher = { ...claimed.payload.voucher, maxClaimableAmount: signedMaxClaimable, signature }
            const told = { ...claimed, payload: { ...claimed.payload, voucher } }
            answers.push(refused, await presented(shop.url, "voucher", told))
          }
          assert.strictEqual((yield* buyer.buy(`${shop.origin}/dear`)).status, 500)
          assert.deepStrictEqual(answers, [
            { status: 402, told: { signedMaxClaimable: charged.maxClaimableAmount, signature: charged.signature } },
            { status: 402, told: undefined }
          ])
          yield* bought(buyer.pay, shop.url, 1)
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
