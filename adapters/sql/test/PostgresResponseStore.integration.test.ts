import { assert, layer } from "@effect/vitest"
import { ResponseStore } from "@pontage/core"
import { ResponseStoreLaws } from "@pontage/core/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { PostgresResponseStore } from "../src/postgres.ts"
import { PostgresServer } from "../src/testing/index.ts"
import * as PostgresServers from "./PostgresServers.ts"

const { database, instance } = PostgresServers

const trial = Layer.unwrap(Effect.map(database, (url) => PostgresResponseStore.layer({ url })))

layer(PostgresServer.layer, { timeout: 300_000 })("on PostgreSQL", (it) => {
  it.layer(trial)("the laws of a store of kept responses hold", (it) => {
    for (const { effect, name } of ResponseStoreLaws.all) it.effect(name, () => effect)
  })

  it.effect("processes of a shop share their responses, in the database of the payment records too", () =>
    Effect.gen(function* () {
      const url = yield* database
      yield* instance(url)
      const open = Effect.map(Layer.build(PostgresResponseStore.layer({ url, connections: 1 })), (context) =>
        Context.get(context, ResponseStore)
      )
      const [one, other] = [yield* open, yield* open]
      yield* one.keep("name", "text", 60_000)
      assert.strictEqual(yield* other.find("name"), "text")
    })
  )
})
