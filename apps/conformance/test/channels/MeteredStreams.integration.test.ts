/** Metered streams on each of our hosts: charged by the unit while they are sent, and paid for window by window. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { buyerOf, chainLayer } from "./ChannelShopTrial.ts"
import { everywhere } from "./FacilitatorPlace.ts"
import * as StreamBuyer from "./StreamBuyer.ts"
import * as StreamShops from "./StreamShops.ts"

const { hosts, opened, tick, windowAmount, windowUnits } = StreamShops

const numbersIn = (events: ReadonlyArray<StreamBuyer.StreamEvent>) =>
  events.filter(({ name }) => name === "").map(({ data }) => Number(data))

const lastOf = (events: ReadonlyArray<StreamBuyer.StreamEvent>) => {
  const last = events.at(-1)
  assert.strictEqual(last?.name, "payment-receipt")
  return JSON.parse(last?.data ?? "") as Readonly<Record<string, string>>
}

/** Sends the next voucher for each need until the stream ends. */
const followed = async (buyer: StreamBuyer.StreamBuyer, offer: StreamBuyer.Offer, response: Response) => {
  const reader = StreamBuyer.readerOf(response)
  let answered = 0
  const needs = () => reader.events().filter(({ name }) => name === "payment-need-voucher")
  while (!reader.isOver()) {
    // oxlint-disable-next-line no-await-in-loop -- a voucher follows each need
    await reader.until((events) => events.filter(({ name }) => name === "payment-need-voucher").length > answered)
    for (const { data } of needs().slice(answered)) {
      answered++
      const { requiredCumulative } = JSON.parse(data) as { requiredCumulative: string }
      // oxlint-disable-next-line no-await-in-loop -- a voucher follows each need
      const answer = await buyer.post(offer, await buyer.voucherOf(offer, BigInt(requiredCumulative)))
      assert.strictEqual(answer.status, 200)
    }
  }
  return { events: reader.events(), vouchers: answered }
}

for (const { place, shared } of everywhere(chainLayer))
  layer(shared, { timeout: "15 minutes", excludeTestServices: true })(
    `a metered stream, its facilitator ${place}`,
    (it) => {
      for (const host of Object.keys(hosts) as ReadonlyArray<keyof typeof hosts>) {
        it.effect(`on ${host} is charged by the unit, over one voucher after the other`, () =>
          Effect.scoped(
            Effect.gen(function* () {
              const shop = yield* opened(host)
              const { key } = yield* shop.chain.payer
              yield* Effect.promise(async () => {
                const buyer = StreamBuyer.make(shop, key)
                const offer = await buyer.offerOf(shop.url)
                assert.deepStrictEqual(offer.extra["metered"], {
                  unit: "token",
                  tick: `${tick}`,
                  window: `${windowAmount}`,
                  voucherUrl: "/payment-voucher",
                  idleSeconds: 4
                })
                const payload = { ...(await buyer.depositOf(offer, windowAmount, 100n * windowAmount)), follows: true }
                const response = await buyer.request(`${shop.url}?units=35`, offer, payload)
                assert.strictEqual(response.status, 200, response.status === 200 ? "" : await response.text())
                assert.strictEqual(response.headers.get("payment-voucher-url"), "/payment-voucher")
                const { events, vouchers } = await followed(buyer, offer, response)
                assert.deepStrictEqual(
                  numbersIn(events),
                  Array.from({ length: 35 }, (_, index) => index)
                )
                assert.strictEqual(vouchers, 3)
                const { timestamp, ...receipt } = lastOf(events)
                assert.match(timestamp ?? "", /^\d{4}-\d\d-\d\dT/)
                assert.deepStrictEqual(receipt, {
                  method: "batch-settlement",
                  reference: buyer.idOf(offer),
                  status: "success",
                  chargedAmount: `${35n * tick}`,
                  chargedCumulativeAmount: `${35n * tick}`,
                  units: "35"
                })
                const standing = await Effect.runPromise(shop.ledger.find(buyer.idOf(offer)))
                assert.deepInclude(standing, { charged: 35n * tick, reserved: 0n, open: 0, signed: 4n * windowAmount })
                // The next request goes on top of what was charged, and not of what was signed.
                const next = { ...(await buyer.voucherOf(offer, 35n * tick + windowAmount)), follows: true }
                const again = await followed(buyer, offer, await buyer.request(`${shop.url}?units=3`, offer, next))
                assert.strictEqual(lastOf(again.events)["chargedCumulativeAmount"], `${38n * tick}`)
              })
            })
          )
        )

        it.effect(`on ${host} ends for a buyer of another kind when its window is used`, () =>
          Effect.scoped(
            Effect.gen(function* () {
              const shop = yield* opened(host)
              const { key } = yield* shop.chain.payer
              const buyer = buyerOf(shop.chain.node.rpcUrl, key)
              const response = yield* buyer.buy(shop.url)
              const text = yield* Effect.promise(() => response.text())
              const events = StreamBuyer.eventsIn(text)
              assert.strictEqual(numbersIn(events).length, windowUnits)
              assert.deepInclude(lastOf(events), { end: "budget", chargedAmount: `${windowAmount}`, units: "10" })
              const short = yield* buyer.buy(`${shop.url}?units=4`)
              const shortEvents = StreamBuyer.eventsIn(yield* Effect.promise(() => short.text()))
              assert.deepInclude(lastOf(shortEvents), {
                chargedAmount: `${4n * tick}`,
                chargedCumulativeAmount: "1400"
              })
              // Its client believes the receipt at the head, and is corrected once.
              const after = yield* buyer.buy(`${shop.url}?units=1`)
              assert.strictEqual(after.status, 200)
              assert.deepInclude(lastOf(StreamBuyer.eventsIn(yield* Effect.promise(() => after.text()))), {
                chargedCumulativeAmount: "1500"
              })
              assert.deepStrictEqual(shop.made.units, windowUnits + 5)
            })
          )
        )
      }
    }
  )
