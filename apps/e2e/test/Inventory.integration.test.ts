/**
 * Purchases across chains that a facilitator's operator delivers from its own money, over real HTTP between two real nodes: the buyer
 * signs once, and the shop is paid once the buyer's money is final.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

import * as InventoryMarket from "./InventoryMarket.ts"

const { fee, price } = InventoryMarket
const often = Schedule.spaced("100 millis")

interface Record {
  readonly status: string
  readonly network: string
  readonly transaction: string
  readonly amount: string
  readonly payTo: string
  readonly delivery?: {
    readonly network: string
    readonly status: string
    readonly transaction?: string
    readonly amount?: string
    readonly detail?: string
  }
}

const recordOf = (facilitator: string, paymentId: string) =>
  Effect.promise(async () => (await (await fetch(`${facilitator}/payments/${paymentId}`)).json()) as Record)

const deliveryOf = (facilitator: string, paymentId: string) =>
  Effect.map(recordOf(facilitator, paymentId), ({ delivery }) => delivery)

describe("a purchase from an inventory", () => {
  it.live("pays the shop once the buyer's payment is final, and shows both legs", () =>
    Effect.gen(function* () {
      const market = yield* InventoryMarket.open({ serve: "departed" })
      const { buyer, earned, facilitator, first, operator, received, runs, second, stock } = market
      const { body, paymentId, status } = yield* buyer(0)
      assert.strictEqual(status, 200, body)
      assert.strictEqual(runs(), 1)
      assert.strictEqual(yield* earned, price + fee)
      // The block of the payment is not final yet: nothing is signed for the shop.
      const waiting = yield* Effect.repeat(deliveryOf(facilitator, paymentId), {
        until: (seen) => seen?.detail !== undefined,
        schedule: often
      })
      assert.include(waiting?.detail, "is final")
      assert.strictEqual(yield* received, 0n)
      yield* first.mine(InventoryMarket.finalityDepth)
      yield* Effect.repeat(received, { until: (amount) => amount > 0n, schedule: often })
      assert.strictEqual(yield* received, price)
      assert.strictEqual(yield* stock, 90_000_000n)
      const { delivery, ...record } = yield* Effect.repeat(recordOf(facilitator, paymentId), {
        until: ({ delivery: seen }) => seen?.status === "delivered",
        schedule: often
      })
      assert.include(record, {
        network: first.network,
        amount: `${price + fee}`,
        payTo: operator.address
      })
      assert.include(delivery, { network: second.network, amount: `${price}` })
      assert.match(delivery?.transaction ?? "", /^0x[0-9a-f]{64}$/)
      assert.strictEqual((yield* second.transfers()).filter(({ from }) => from === operator.address).length, 1)
    }).pipe(Effect.scoped)
  )
})
