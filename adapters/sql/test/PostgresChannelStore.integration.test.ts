import { assert, layer } from "@effect/vitest"
import { ChannelStore } from "@pontage/core"
import { ChannelStoreLaws } from "@pontage/core/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { PostgresChannelStore } from "../src/postgres.ts"
import { PostgresServer } from "../src/testing/index.ts"
import * as PostgresServers from "./PostgresServers.ts"
import * as TrialChannels from "./TrialChannels.ts"

const { database, instance } = PostgresServers

const trial = Layer.unwrap(Effect.map(database, (url) => PostgresChannelStore.layer({ url })))

layer(PostgresServer.layer, { timeout: 300_000 })("on PostgreSQL", (it) => {
  it.layer(trial)("the laws of a channel store hold", (it) => {
    for (const { effect, name } of ChannelStoreLaws.all) it.effect(name, () => effect)
  })

  it.effect("instances at once on one channel never charge more than is signed, beside the payment records", () =>
    Effect.gen(function* () {
      const url = yield* database
      yield* instance(url)
      const open = Effect.map(Layer.build(PostgresChannelStore.layer({ url, connections: 2 })), (context) =>
        Context.get(context, ChannelStore)
      )
      const stores = [yield* open, yield* open]
      yield* Effect.forEach(stores, (store) => store.open(TrialChannels.channel), { concurrency: "unbounded" })
      const ends = yield* Effect.forEach(
        Array.from({ length: 40 }, (_, index) => index),
        (index) => TrialChannels.sell(stores[index % 2] ?? assert.fail("no store"), index, 1_500n),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(ends.filter((end) => end === "Charged").length, 15)
      assert.strictEqual(ends.filter((end) => end === "Stale").length, 25)
      for (const store of stores) assert.strictEqual((yield* store.find("0xchannel"))?.charged, 1_500n)
    })
  )
})
