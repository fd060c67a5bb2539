/** The service over records that break under it: seen, named and mended without a restart. */
import { copyFileSync, mkdtempSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import { FacilitatorSchemeRegistry, FacilitatorClient, IntakeGate, LocalFacilitator } from "@pontage/core"
import { TestLedger, TestScheme } from "@pontage/core/testing"
import { PostgresPaymentStore } from "@pontage/sql/postgres"
import { SqlitePaymentStore } from "@pontage/sql/sqlite"
import { PostgresServer } from "@pontage/sql/testing"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Redacted from "effect/Redacted"

import * as FacilitatorServer from "../src/api/FacilitatorServer.ts"
import * as LedgerService from "./LedgerService.ts"

/** The service over these records, as `FacilitatorProcess` puts it together. */
const serviceOver = Effect.fnUntraced(function* <E>(
  records: Layer.Layer<Layer.Success<ReturnType<typeof SqlitePaymentStore.layer>>, E>
) {
  const ledger = TestLedger.make()
  ledger.deposit(LedgerService.payer, 10n ** 9n)
  const intake = IntakeGate.make()
  const schemes = [Effect.succeed(TestScheme.facilitator(ledger))]
  const local = LocalFacilitator.layer({ intake }).pipe(
    Layer.provideMerge(FacilitatorSchemeRegistry.layer(schemes)),
    Layer.provideMerge(records)
  )
  const inside = Layer.mergeAll(local, Layer.succeed(Metric.MetricRegistry, new Map()), Logger.layer([]))
  const running = yield* Effect.provide(FacilitatorServer.serve({ port: 0, intake }), yield* Layer.build(inside))
  const client = yield* FacilitatorClient.make({ url: running.url })
  const ready = Effect.promise(async () => {
    const answer = await fetch(`${running.url}/ready`)
    return { status: answer.status, text: await answer.text() }
  })
  const settle = Effect.gen(function* () {
    const { paymentPayload, paymentRequirements } = yield* LedgerService.pay()
    return yield* Effect.exit(client.settle({ paymentPayload, paymentRequirements }, undefined))
  })
  const verify = Effect.gen(function* () {
    const { paymentPayload, paymentRequirements } = yield* LedgerService.pay()
    return yield* Effect.exit(client.verify({ paymentPayload, paymentRequirements }))
  })
  return { ready, settle, verify }
})

type Service = Effect.Success<ReturnType<typeof serviceOver>>

/** Readiness looks again two seconds after its last look: it is asked until it has. */
const until = ({ ready }: Service, status: number) =>
  Effect.repeat(Effect.andThen(Effect.sleep("50 millis"), ready), { until: (answer) => answer.status === status })

const holdsUp = Effect.fnUntraced(function* (service: Service) {
  yield* until(service, 200)
  assert.isTrue(Exit.isSuccess(yield* service.settle))
})

const isBroken = Effect.fnUntraced(function* (service: Service, words: string) {
  const { text } = yield* until(service, 503)
  assert.include(text, words)
  for (const exit of [yield* service.settle, yield* service.verify]) {
    const failure = Exit.isFailure(exit) ? exit.cause.reasons.find(({ _tag }) => _tag === "Fail") : undefined
    assert.deepInclude(failure, { _tag: "Fail" })
    assert.include(JSON.stringify(failure), words)
    assert.include(JSON.stringify(failure), '"retryAfter":10')
  }
})

describe("the service", () => {
  it.live(
    "sees that the file of its records is replaced, takes nothing, and goes on when it is back",
    () =>
      Effect.gen(function* () {
        const folder = yield* Effect.acquireRelease(
          Effect.sync(() => mkdtempSync(join(tmpdir(), "pontage-broken-"))),
          (name) => Effect.sync(() => rmSync(name, { recursive: true }))
        )
        const filename = join(folder, "payments.sqlite")
        const service = yield* serviceOver(SqlitePaymentStore.layer({ filename }))
        yield* holdsUp(service)
        renameSync(filename, `${filename}.old`)
        copyFileSync(`${filename}.old`, filename)
        yield* isBroken(service, "the file of the records was replaced by another")
        renameSync(`${filename}.old`, filename)
        yield* holdsUp(service)
      }).pipe(Effect.scoped),
    900_000
  )

  it.live(
    "sees that its database is read-only, takes nothing, and goes on when it may be written again",
    () =>
      Effect.gen(function* () {
        const server = yield* PostgresServer.PostgresServer
        const url = yield* server.database
        const service = yield* serviceOver(PostgresPaymentStore.layer({ url, connections: 4 }))
        yield* holdsUp(service)
        yield* setReadOnly(url, true)
        yield* isBroken(service, "the database is read-only")
        yield* setReadOnly(url, false)
        yield* holdsUp(service)
      }).pipe(Effect.scoped, Effect.provide(PostgresServer.layer)),
    900_000
  )
})

/** The database of a primary that was made read-only: new sessions find it so, and the old ones are ended. */
const setReadOnly = (url: Redacted.Redacted, readOnly: boolean) =>
  Effect.gen(function* () {
    const elsewhere = new URL(Redacted.value(url))
    const name = elsewhere.pathname.slice(1)
    elsewhere.pathname = "/postgres"
    const sql = yield* PgClient.makeClient({ url: Redacted.make(elsewhere.href) })
    yield* sql.unsafe(`ALTER DATABASE ${name} SET default_transaction_read_only = ${readOnly ? "on" : "off"}`)
    yield* sql.unsafe(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`)
  }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))
