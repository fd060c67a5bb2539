import { layer } from "@effect/vitest"
import { PaymentStoreLaws } from "@pontage/core/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { PostgresPaymentStore } from "../src/postgres.ts"
import { PostgresServer } from "../src/testing/index.ts"
import * as LawSubject from "./LawSubject.ts"

const store = Layer.unwrap(
  Effect.gen(function* () {
    const { database } = yield* PostgresServer.PostgresServer
    return PostgresPaymentStore.layer({ url: yield* database })
  })
)

layer(PostgresServer.layer, { timeout: 60_000 })("the laws of a payment store, on PostgreSQL", (it) => {
  it.layer(Layer.mergeAll(store, LawSubject.counting()))("one after another", (it) => {
    for (const { effect, name } of PaymentStoreLaws.all) it.effect(name, () => effect)
  })
})
