import { assert, describe, it, layer } from "@effect/vitest"
import type { PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"

import { SqlitePaymentStore } from "../../src/sqlite.ts"
import { PostgresServer } from "../../src/testing/index.ts"
import * as DatabaseFile from "../DatabaseFile.ts"
import * as PostgresServers from "../PostgresServers.ts"
import * as DeadCallsTrial from "./DeadCallsTrial.ts"

describe("calls of a process that had a file open", () => {
  it.live("are given back when the next one opens it, if their money had not moved", () =>
    Effect.gen(function* () {
      const filename = yield* DatabaseFile.filename
      const inLife = <A, E>(act: (store: PaymentStore.PaymentStore["Service"]) => Effect.Effect<A, E>) =>
        Effect.scoped(Effect.flatMap(SqlitePaymentStore.make({ filename }), act))
      yield* inLife(DeadCallsTrial.leave)
      assert.deepStrictEqual(yield* inLife(DeadCallsTrial.grants), DeadCallsTrial.dead)
    })
  )
})

layer(PostgresServer.layer, { timeout: 900_000, excludeTestServices: true })("calls of an instance", (it) => {
  it.effect("are given back when the next one is alone on the database", () =>
    Effect.gen(function* () {
      const url = yield* PostgresServers.database
      yield* Effect.scoped(Effect.flatMap(PostgresServers.instance(url), ({ store }) => DeadCallsTrial.leave(store)))
      const next = yield* PostgresServers.instance(url)
      assert.deepStrictEqual(yield* DeadCallsTrial.grants(next.store), DeadCallsTrial.dead)
      assert.strictEqual(yield* DeadCallsTrial.verdictOnFirst(next.store), "held")
    })
  )

  it.effect("are left alone while another instance has sessions: they may be its own", () =>
    Effect.gen(function* () {
      const url = yield* PostgresServers.database
      const living = yield* PostgresServers.instance(url)
      yield* DeadCallsTrial.leave(living.store)
      const next = yield* PostgresServers.instance(url)
      assert.deepStrictEqual(yield* DeadCallsTrial.grants(next.store), [])
    })
  )
})
