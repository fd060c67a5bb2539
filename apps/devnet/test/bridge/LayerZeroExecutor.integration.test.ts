import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as LayerZeroExecutor from "../../src/bridge/LayerZeroExecutor.ts"
import * as LayerZeroRelay from "../../src/bridge/LayerZeroRelay.ts"
import * as TwoChains from "./TwoChains.ts"

describe("the executor between two local chains", () => {
  it.live("delivers in order; what it fails to deliver anybody delivers; what it ignores waits for it", () =>
    Effect.gen(function* () {
      const { attester, away, first, home, pay, quote, routeOf, second, signed, token } = yield* TwoChains.make
      const { behave } = yield* LayerZeroExecutor.make(home, away, attester)
      const { payee, stranger } = first.accounts
      const balance = second.balanceOf(payee.address, token)
      const arrives = (amount: bigint) => Effect.repeat(balance, { until: (found) => found === amount })
      const sent = Effect.gen(function* () {
        const payment = yield* signed(yield* routeOf())
        const { logs } = yield* pay(payment, yield* quote(payment.route))
        return LayerZeroRelay.packetsIn(logs)
      })
      yield* sent
      yield* arrives(10_000n)
      yield* behave("attest")
      const [packet] = yield* sent
      assert.isDefined(packet)
      // Each attempt reverts until the verifiers have made it deliverable.
      yield* Effect.repeat(LayerZeroRelay.deliver(away, packet, stranger), {
        until: ({ status }) => status === "success"
      })
      assert.strictEqual(yield* balance, 20_000n)
      yield* behave("ignore")
      yield* sent
      yield* sent
      assert.strictEqual(yield* balance, 20_000n)
      yield* behave("deliver")
      yield* arrives(40_000n)
    })
  )
})
