/**
 * A buyer whose money is on one chain pays a shop that wants it on another one: by one signature, without coin on either chain, over
 * real HTTP, with LayerZero's published contracts or CCTP between two real nodes.
 */
import { assert, describe, it } from "@effect/vitest"
import { LocalBridge } from "@pontage/devnet/bridge"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

import * as CrossMarket from "./CrossMarket.ts"

const { price } = CrossMarket

interface Record {
  readonly network: string
  readonly transaction: string
  readonly delivery?: {
    readonly network: string
    readonly status: string
    readonly transaction?: string
    readonly amount?: string
  }
}

describe.each(LocalBridge.kinds)("a purchase across chains over %s", (kind) => {
  it.live("serves the report, and the bridge brings the shop its price", () =>
    Effect.gen(function* () {
      const { books, facilitator, first, isArrived, payer, received, report, runs, second, signatures } =
        yield* CrossMarket.open({
          kind,
          serve: "departed",
          pushAfterSeconds: 600
        })
      const { body, paymentId, status } = yield* report
      assert.strictEqual(status, 200, body)
      assert.strictEqual(runs(), 1)
      assert.strictEqual(signatures(), 1)
      yield* Effect.repeat(received, { until: (one) => one > 0n, schedule: Schedule.spaced("100 millis") })
      const amount = yield* received
      assert.isTrue(isArrived(amount, price))
      assert.isBelow(Number(yield* first.balanceOf(payer.address)), 1_000_000_000 - Number(price))
      assert.strictEqual(yield* Effect.promise(() => first.client.getBalance({ address: payer.address })), 0n)
      // The record shows both legs, with both transactions.
      const record = Effect.promise(
        async () => (await (await fetch(`${facilitator}/payments/${paymentId}`)).json()) as Record
      )
      const { delivery, network, transaction } = yield* Effect.repeat(record, {
        until: ({ delivery: seen }) => seen?.status === "delivered",
        schedule: Schedule.spaced("100 millis")
      })
      assert.strictEqual(network, first.network)
      assert.match(transaction, /^0x[0-9a-f]{64}$/)
      assert.deepInclude(delivery, { network: second.network, status: "delivered", amount: `${amount}` })
      assert.match(delivery?.transaction ?? "", /^0x[0-9a-f]{64}$/)
      // The scheme of deliveries is the facilitator's own: no shop can sell by it.
      const supported = yield* Effect.promise(async () => (await fetch(`${facilitator}/supported`)).text())
      assert.notInclude(supported, '"delivery"')
      assert.include(supported, '"quotes"')
      const { cost, fee } = yield* books
      assert.isAtLeast(fee, cost)
      assert.isAbove(cost, 0)
    })
  )

  it.live("serves once the money has arrived, delivered by the facilitator where the executor leaves it", () =>
    Effect.gen(function* () {
      const { behave, books, isArrived, received, report, runs, signatures } = yield* CrossMarket.open({
        kind,
        serve: "delivered",
        pushAfterSeconds: 0
      })
      yield* behave("attest")
      const { body, status } = yield* report
      assert.strictEqual(status, 200, body)
      assert.strictEqual(runs(), 1)
      assert.strictEqual(signatures(), 1)
      assert.isTrue(isArrived(yield* received, price))
      const { cost, fee } = yield* books
      assert.isAtLeast(fee, cost)
    })
  )
})
