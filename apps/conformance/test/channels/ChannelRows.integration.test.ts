/**
 * Payment channels with every combination of our roles and the published ones: requests at once on one channel, and the books of the
 * shop held against the chain.
 */
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { buyers } from "../../src/channels/ChannelBuyers.ts"
import * as ChannelMarket from "../../src/channels/ChannelMarket.ts"
import { shops } from "../../src/channels/ChannelShops.ts"
import * as ChannelTrial from "../../src/channels/ChannelTrial.ts"

class Results extends Context.Service<Results, ReadonlyArray<ChannelTrial.Result>>()("ChannelResults") {
  static readonly layer = Layer.effect(this, Effect.flatMap(ChannelMarket.make, ChannelTrial.runAll))
}

const titleOf = ({ buyer, facilitator, shop }: ChannelTrial.ChannelRow) =>
  `${buyers[buyer].title} at ${shops[shop].title} with ${ChannelMarket.facilitators[facilitator]}`

layer(Results.layer, { excludeTestServices: true, timeout: "15 minutes" })("1, 4 and 16 requests at once", (it) => {
  ChannelTrial.rows.forEach((row, at) => {
    it.effect(titleOf(row), () =>
      Effect.gen(function* () {
        assert.deepStrictEqual((yield* Results)[at]?.sight, ChannelTrial.expected(row))
      })
    )
  })
})
