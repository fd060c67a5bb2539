/**
 * The Machine Payments Protocol: our client and command line, and the peer's, at the peer's shop and at ours, each purchase on
 * the chain. `npm run conformance` has the command lines at every shop.
 */
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { programs } from "../../src/mpp/MppPrograms.ts"
import * as MppTrial from "../../src/mpp/MppTrial.ts"

class Results extends Context.Service<Results, ReadonlyArray<MppTrial.Result>>()("MppResults") {
  static readonly layer = Layer.effect(
    this,
    Effect.flatMap(MppTrial.market, (market) => MppTrial.runAll(market, MppTrial.quickRows))
  )
}

layer(Results.layer, { excludeTestServices: true, timeout: "15 minutes" })("buys", (it) => {
  MppTrial.quickRows.forEach((row, at) => {
    it.effect(`${programs[row.buyer].title} at ${MppTrial.shops[row.shop].title}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual((yield* Results)[at]?.sight, MppTrial.expected(row))
      })
    )
  })
})
