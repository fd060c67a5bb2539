/** Strangers at each of our hosts, on the chain. */
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as HostTrial from "../../src/hosts/HostTrial.ts"
import * as MppTrial from "../../src/mpp/MppTrial.ts"

class Results extends Context.Service<Results, ReadonlyArray<HostTrial.Result>>()("HostResults") {
  static readonly layer = Layer.effect(this, Effect.flatMap(MppTrial.market, HostTrial.runAll))
}

layer(Results.layer, { excludeTestServices: true, timeout: "15 minutes" })("sells", (it) => {
  HostTrial.rows.forEach((row, at) => {
    it.effect(`on ${row.host} to ${HostTrial.strangers[row.stranger].title}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual((yield* Results)[at]?.sight, HostTrial.expected)
      })
    )
  })
})
