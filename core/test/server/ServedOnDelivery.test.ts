import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import * as BridgeShop from "../facilitator/delivery/BridgeShop.ts"
import { begin } from "../facilitator/LedgerSteps.ts"
import * as LedgerGate from "./LedgerGate.ts"

const report = "GET /report"

/** A shop whose money goes on to the far ledger, at a bridge that does not attest it yet, and a payment of its offer. */
const opened = Effect.fnUntraced(function* (serve?: "departed" | "delivered") {
  const shop = yield* BridgeShop.open({ settleTimeoutMillis: 5_000 })
  shop.bridge.faults.withheld = true
  const gate = yield* LedgerGate.open({
    routes: { [report]: { payTo: BridgeShop.route, ...(serve && { serve }) } },
    handler: () => 200,
    shop: { facilitator: shop.facilitator, ledger: shop.near }
  })
  const headers = yield* LedgerGate.payFor(yield* gate.ask(report, "/report"))
  const ask = Effect.fnUntraced(function* () {
    const asking = yield* begin(gate.ask(report, "/report", headers), 7)
    const exit = asking.pollUnsafe()
    if (exit?._tag !== "Success") throw new Error("no response")
    return exit.value
  })
  return { shop, gate, ask }
})

const bodyOf = ({ body }: LedgerGate.Reply) => JSON.parse(body) as Record<string, unknown>

describe("a route whose money goes on to another network", () => {
  for (const serve of [undefined, "departed"] as const) {
    it.effect(`serves once the payer has paid, with serve: ${serve}`, () =>
      Effect.gen(function* () {
        const { ask, gate } = yield* opened(serve)
        assert.strictEqual((yield* ask()).status, 200)
        assert.strictEqual((yield* ask()).status, 409)
        assert.deepStrictEqual(gate.ran, ["/report"])
      })
    )
  }

  it.effect("serves once the money has arrived, with serve: delivered; until then the buyer repeats its payment", () =>
    Effect.gen(function* () {
      const { ask, gate, shop } = yield* opened("delivered")
      for (const _ of [1, 2, 3]) {
        const waiting = yield* ask()
        assert.strictEqual(waiting.status, 503)
        assert.strictEqual(waiting.headers["Retry-After"], "2")
        const { error, paymentState, retry } = bodyOf(waiting)
        assert.include(["included", "final"], paymentState)
        assert.strictEqual(retry, "same_payment")
        assert.include(error, "has not arrived on ledger:far yet")
        yield* TestClock.adjust("20 minutes")
      }
      assert.deepStrictEqual(gate.ran, [])
      shop.bridge.faults.withheld = false
      yield* TestClock.adjust("60 seconds")
      const served = yield* ask()
      assert.strictEqual(served.status, 200)
      assert.strictEqual((yield* ask()).status, 409)
      assert.deepStrictEqual(gate.ran, ["/report"])
      assert.strictEqual(shop.near.transfers.length, 1)
      assert.strictEqual(BridgeShop.arrivals(shop).length, 1)
    })
  )

  it.effect("refuses serve: delivered at start for handlers that run before the money", () =>
    Effect.gen(function* () {
      const opening = LedgerGate.open({
        routes: { [report]: { serve: "delivered", settle: "after-handler" } },
        handler: () => 200
      })
      const { message } = yield* Effect.flip(opening)
      assert.include(message, 'remove settle: "after-handler"')
    })
  )
})
