/** A facilitator that starts while the other network's node does not answer. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"

import * as RoutedSchemes from "../../src/bridge/RoutedSchemes.ts"
import * as RoutedPayments from "./RoutedPayments.ts"

describe("routes to a network whose node is silent at the start", () => {
  it.live("hold no payment and no delivery to be unknown, and are served as soon as it answers", () =>
    Effect.gen(function* () {
      const routed = yield* RoutedPayments.make()
      const { client, far, first, near, second } = routed
      const requirements = yield* routed.offer
      const buyer = client(first.accounts.payers[0])
      const asset = buyer.asset(requirements)
      if (asset === undefined || routed.facilitator.onward === undefined) return assert.fail("nothing is routed")
      const validBefore = Math.floor((yield* Clock.currentTimeMillis) / 1000) + 600
      const { payload } = yield* buyer.sign({ requirements, asset, validAfter: 0, validBefore, binding: undefined })
      const { network } = second
      const urls = { near: near.url, far: far.url }
      const { facilitator: start } = RoutedSchemes.make(routed, { urls, network })
      const life = yield* Effect.scope
      const restarted = yield* far.whileDown(
        Effect.gen(function* () {
          const facilitator = yield* Scope.provide(life)(start)
          const payment = yield* facilitator.read(requirements, payload)
          const refused = yield* Effect.flip(facilitator.verify(payment))
          assert.strictEqual(refused._tag, "ChainUnavailable")
          assert.match(refused.message, /^The node of eip155:31338/)
          const transaction = `0x${"1".repeat(64)}`
          const departure = { payment, transaction, block: { number: 1n, hash: transaction }, attempt: 1 }
          const unseen = yield* Effect.flip(facilitator.onward?.observe(departure) ?? Effect.die("no routes"))
          assert.match(unseen.message, /^The node of eip155:31338/)
          assert.deepStrictEqual(yield* facilitator.quotes ?? Effect.succeed([]), [])
          return facilitator
        })
      )
      const payment = yield* restarted.read(requirements, payload)
      yield* Effect.retry(restarted.verify(payment), {
        while: ({ _tag }) => _tag === "ChainUnavailable",
        schedule: Schedule.spaced("100 millis")
      })
      assert.strictEqual((yield* restarted.quotes ?? Effect.succeed([])).length, 1)
      assert.deepStrictEqual(yield* restarted.unquoted ?? Effect.succeed([]), [])
    })
  )
})
