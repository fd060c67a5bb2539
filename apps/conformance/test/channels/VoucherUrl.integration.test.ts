/** The voucher URL: its statuses, and hostile bodies. It never bills, and never runs a handler. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { beginWithdrawal, chainLayer } from "./ChannelShopTrial.ts"
import { everywhere } from "./FacilitatorPlace.ts"
import * as StreamBuyer from "./StreamBuyer.ts"
import * as StreamShops from "./StreamShops.ts"

const { opened, windowAmount } = StreamShops

interface Answer {
  readonly error?: string
  readonly detail?: string
  readonly acceptedCumulative?: string
  readonly transaction?: string
  readonly channelState?: Readonly<Record<string, unknown>>
}

const answerOf = async (response: Response) => ({ status: response.status, body: (await response.json()) as Answer })

/** A shop, and a buyer that has bought one window through a channel of ten. */
const bought = Effect.gen(function* () {
  const shop = yield* opened("Koa")
  const { key } = yield* shop.chain.payer
  const buyer = StreamBuyer.make(shop, key)
  return yield* Effect.promise(async () => {
    const offer = await buyer.offerOf(shop.url)
    const payload = { ...(await buyer.depositOf(offer, windowAmount, 10n * windowAmount)), follows: true }
    await (await buyer.request(`${shop.url}?units=10`, offer, payload)).text()
    const post = async (sent: object) => answerOf(await buyer.post(offer, sent))
    return { shop, buyer, offer, post, voucherOf: (maximum: bigint) => buyer.voucherOf(offer, maximum) }
  })
})

for (const { place, shared } of everywhere(chainLayer))
  layer(shared, { timeout: "15 minutes", excludeTestServices: true })(
    `the voucher URL, its facilitator ${place}`,
    (it) => {
      it.effect("keeps a voucher, the same one again, no lower one, and none above the balance", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const { buyer, offer, post, shop, voucherOf } = yield* bought
            yield* Effect.promise(async () => {
              const three = await voucherOf(3n * windowAmount)
              for (let time = 0; time < 2; time++) {
                // oxlint-disable-next-line no-await-in-loop -- the second one comes after the first
                const kept = await post(three)
                assert.strictEqual(kept.status, 200)
                assert.strictEqual(kept.body.acceptedCumulative, `${3n * windowAmount}`)
                assert.deepInclude(kept.body.channelState, {
                  channelId: buyer.idOf(offer),
                  balance: `${10n * windowAmount}`,
                  chargedCumulativeAmount: `${windowAmount}`
                })
              }
              const lower = await post(await voucherOf(2n * windowAmount))
              assert.deepInclude(lower, { status: 409 })
              assert.deepInclude(lower.body, { error: "lower_voucher", acceptedCumulative: `${3n * windowAmount}` })
              const above = await buyer.post(offer, await voucherOf(11n * windowAmount))
              assert.strictEqual(above.status, 402)
              assert.match(
                Buffer.from(above.headers.get("payment-required") ?? "", "base64").toString(),
                /cumulative_exceeds_balance.*channelState/
              )
              const topUp = await post(await buyer.depositOf(offer, 11n * windowAmount, 10n * windowAmount))
              assert.strictEqual(topUp.status, 200)
              assert.match(topUp.body.transaction ?? "", /^0x[0-9a-f]{64}$/)
              assert.deepInclude(topUp.body.channelState, { balance: `${20n * windowAmount}` })
            })
            const standing = yield* shop.ledger.find(buyer.idOf(offer))
            assert.deepInclude(standing, { charged: windowAmount, reserved: 0n, signed: 11n * windowAmount })
            assert.strictEqual(shop.made.units, 10)
          })
        )
      )

      it.effect("refuses what is no voucher of a channel of the shop, and keeps nothing of it", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const { buyer, offer, post, shop, voucherOf } = yield* bought
            const before = yield* shop.ledger.find(buyer.idOf(offer))
            yield* Effect.promise(async () => {
              const good = await voucherOf(5n * windowAmount)
              const { channelConfig, voucher } = good as unknown as Readonly<
                Record<"channelConfig" | "voucher", object>
              >
              const strange = StreamBuyer.make(shop, `0x${"5".repeat(64)}`)
              const hostile: ReadonlyArray<object> = [
                {},
                { ...good, type: "refund" },
                { ...good, type: "claim" },
                { ...good, voucher: { ...voucher, maxClaimableAmount: `${6n * windowAmount}` } },
                { ...good, voucher: { ...voucher, maxClaimableAmount: `0${5n * windowAmount}` } },
                { ...good, voucher: { ...voucher, maxClaimableAmount: `${2n ** 128n}` } },
                { ...good, voucher: { ...voucher, signature: `0x${"1".repeat(130)}` } },
                { ...good, voucher: { ...voucher, channelId: `0x${"2".repeat(64)}` } },
                { ...good, voucher: null },
                { ...good, channelConfig: { ...channelConfig, receiver: buyer.account.address } },
                { ...good, channelConfig: { ...channelConfig, receiverAuthorizer: buyer.account.address } },
                { ...good, channelConfig: { ...channelConfig, withdrawDelay: 900 } },
                await strange.voucherOf(offer, windowAmount)
              ]
              for (const [index, payload] of hostile.entries()) {
                // oxlint-disable-next-line no-await-in-loop -- one after another, so that a breach is told apart
                assert.strictEqual((await post(payload)).status, 402, `payload ${index}`)
              }
              const url = `${shop.origin}/payment-voucher`
              const texts: ReadonlyArray<Readonly<Record<string, string>>> = [
                {},
                { "payment-signature": "rubbish" },
                { "x-payment": "{}" },
                { "x-payment": "{}", ...buyer.headerOf(offer, good) }
              ]
              for (const headers of texts) {
                // oxlint-disable-next-line no-await-in-loop -- one after another, so that a breach is told apart
                const { status } = await fetch(url, { method: "POST", headers, body: "a body that nobody reads" })
                assert.include([400, 402], status)
              }
              assert.strictEqual((await fetch(url, { headers: buyer.headerOf(offer, good) })).status, 404)
            })
            assert.deepStrictEqual(yield* shop.ledger.find(buyer.idOf(offer)), before)
            assert.strictEqual(shop.made.units, 10)
          })
        )
      )

      it.effect("says that a channel is closed once its payer withdraws", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const { buyer, offer, post, shop, voucherOf } = yield* bought
            yield* beginWithdrawal(shop, buyer.configOf(offer), 5n * windowAmount)
            const closed = yield* Effect.promise(async () => post(await voucherOf(3n * windowAmount)))
            assert.strictEqual(closed.status, 410)
            assert.strictEqual(closed.body.error, "channel_closed")
          })
        )
      )
    }
  )
