import { assert, describe, it } from "@effect/vitest"
import type { PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"

import * as SqliteFile from "../../src/sqlite/SqliteFile.ts"
import * as SqlitePaymentStore from "../../src/SqlitePaymentStore.ts"
import * as DatabaseFile from "../DatabaseFile.ts"
import * as TrialPayments from "../TrialPayments.ts"

/** Runs statements on a file that is not open elsewhere. */
const onFile = <A, E>(filename: string, body: (sql: SqlClient.SqlClient) => Effect.Effect<A, E>) =>
  Effect.scoped(
    Effect.flatMap(SqliteFile.open({ filename }), (file) => Effect.flatMap(SqliteFile.toClient(file), body))
  )

const onStore = <A, E>(filename: string, body: (store: PaymentStore.PaymentStore["Service"]) => Effect.Effect<A, E>) =>
  Effect.scoped(Effect.flatMap(SqlitePaymentStore.make({ filename }), body))

describe("notices that a program of the release before has written", () => {
  it.effect("are told too, since they are given their callers", () =>
    Effect.gen(function* () {
      const filename = yield* DatabaseFile.filename
      const payment = { ...TrialPayments.payment("old"), caller: "shop", notify: true }
      yield* onStore(filename, (store) =>
        Effect.andThen(
          store.claim(payment, undefined),
          store.endUnwanted([{ paymentId: payment.paymentId, at: { number: 1n, hash: "0xfinal" } }])
        )
      )
      yield* onFile(filename, (sql) => sql.unsafe("UPDATE notice SET caller = NULL"))
      yield* onStore(filename, (store) =>
        Effect.gen(function* () {
          const take = store.takeNotices(new Map([["shop", 9]]), 1000)
          assert.lengthOf(yield* take, 0)
          assert.strictEqual((yield* store.noticeBacklog).count, 1)
          assert.strictEqual((yield* store.giveUpNotices(1000, 9)).size, 0)
          assert.lengthOf(yield* take, 1)
        })
      )
    })
  )
})
