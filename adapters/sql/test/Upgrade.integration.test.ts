/**
 * A database that a released program made, with payments in every state, is upgraded through every schema up to this
 * release's.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import { LaneLeases, PaymentStore } from "@pontage/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as SqlClient from "effect/sql/SqlClient"

import * as SqlDialect from "../src/database/SqlDialect.ts"
import { PostgresPaymentStore } from "../src/postgres.ts"
import * as Migrations from "../src/schema/Migrations.ts"
import * as SchemaUpgrade from "../src/schema/SchemaUpgrade.ts"
import { SqlitePaymentStore } from "../src/sqlite.ts"
import * as SqliteFile from "../src/sqlite/SqliteFile.ts"
import { PostgresServer } from "../src/testing/index.ts"
import * as ChildProcess from "./ChildProcess.ts"
import * as DatabaseFile from "./DatabaseFile.ts"
import * as PackedRelease from "./PackedRelease.ts"
import * as TrialPayments from "./TrialPayments.ts"

type Store = PaymentStore.PaymentStore["Service"]
type PrintedRecord = { readonly paymentId: string; readonly status: string }

const { network, payment, prepared } = TrialPayments

const states = [
  "unwanted",
  "held",
  "released",
  "queued",
  "planned",
  "sent",
  "replaced",
  "included",
  "final",
  "failed",
  "back"
]

const underWay = new Set(["queued", "planned", "sent", "replaced", "back"].map((name) => `pay_${name}`))

const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? `${one}` : one)))

/** Makes payments in every state by a release; returns its own view of them. */
const populated = Effect.fnUntraced(function* (version: string, database: string) {
  const child = yield* ChildProcess.run(yield* PackedRelease.program(version), "populate", database)
  yield* child.exited
  return child.lines.map((line) => JSON.parse(line) as PrintedRecord)
})

/** Names of fields of a record that have changed since the release. */
const renamed: Readonly<Record<string, string>> = { flight: "laneNumber", run: "execution" }

/** Asserts that this release reads every field of a record as the old release printed it. */
const isKept = Effect.fnUntraced(function* (store: Store, before: ReadonlyArray<PrintedRecord>) {
  assert.deepStrictEqual(
    before.map(({ paymentId }) => paymentId),
    states.map((name) => `pay_${name}`)
  )
  const page = yield* store.page(0n, 100)
  assert.lengthOf(page, before.length)
  for (const [place, old] of before.entries()) {
    const now = plain(page[place]) as Record<string, unknown>
    const known = Object.fromEntries(Object.keys(old).map((key) => [key, now[renamed[key] ?? key]]))
    // The calls of payments under way died with the old process, and their claims are given back (`DeadCalls`).
    const given = underWay.has(old.paymentId) ? { run: { resource: "report", refused: false, served: false } } : {}
    assert.deepInclude(page[place]?.execution, { ...given.run }, old.paymentId)
    assert.deepStrictEqual({ ...known, ...given }, { ...old, ...given }, old.paymentId)
  }
})

const laneOf = (name: string) => `${network} lane of ${name}`
const claim = (id: string) => ({ id, resource: "report" })
const claimed = (name: string, id: string, caller: string) => (store: Store) =>
  Effect.map(store.claim({ ...payment(name), caller, notify: caller !== "" }, claim(id)), (result) =>
    result._tag === "Claimed" ? result.execution : result._tag
  )

/** Works a lane until it is empty. */
const worked = Effect.fnUntraced(function* (store: Store, name: string, epoch: number) {
  const lane = laneOf(name)
  const lease = { lane, epoch, isValid: () => true }
  const next = yield* store.openLane(lease, 0n)
  const waiting = yield* store.queued(lane, 10)
  if (waiting.length > 0) {
    const paymentIds = waiting.map(({ paymentId }) => paymentId)
    yield* store.plan(lease, [{ number: next, prepared: prepared(next), paymentIds }])
  }
  for (const { attempts, number } of yield* store.openTransactions(lane)) {
    const transaction = attempts.at(-1)?.transaction ?? ""
    const block = { number: 20n, hash: "block 20" }
    const change = { paymentId: `pay_${name}`, transaction, block }
    yield* store.record(lease, {
      changes: [{ ...change, from: ["planned", "sent"], to: "included" }],
      transaction: { number, inclusion: { transaction, block, cost: 7n } }
    })
    yield* store.record(lease, {
      changes: [{ ...change, from: ["included"], to: "final" }],
      transaction: { number, closed: true }
    })
  }
})

const ends = (name: string) => [`pay_${name} included`, `pay_${name} final`]

const goesOn = Effect.fnUntraced(function* (store: Store, epoch: number) {
  yield* store.probe
  assert.strictEqual((yield* store.openTransactions(laneOf("replaced")))[0]?.attempts.length, 2)
  assert.lengthOf(yield* store.openTransactions(laneOf("included")), 1)
  assert.strictEqual(yield* store.spent(network, 0), 14n)
  assert.strictEqual(yield* store.spent(network, 0, "shop"), 14n)

  assert.strictEqual(yield* claimed("held", "another", "")(store), "held")
  assert.strictEqual((yield* store.finish("pay_held", "claim", "served"))?.execution.served, true)
  assert.strictEqual(yield* claimed("final", "another", "shop")(store), "spent")
  assert.strictEqual(yield* claimed("released", "another", "")(store), "granted")
  yield* store.queue("pay_unwanted", laneOf("unwanted"))

  const open = ["unwanted", "queued", "planned", "sent", "replaced", "included", "back"]
  for (const name of open) yield* worked(store, name, epoch)
  for (const name of open) {
    const { history = [], status, transaction } = (yield* store.find(`pay_${name}`)) ?? {}
    assert.strictEqual(status, "final", name)
    assert.isAbove(transaction?.length ?? 0, 0)
    assert.strictEqual(history.filter((one) => one.status === "final").length, 1)
  }
  assert.strictEqual((yield* store.find("pay_failed"))?.status, "failed")

  yield* store.giveUpNotices(1_000_000_000, 1000)
  const told: Array<string> = []
  while (true) {
    const notices = yield* store.takeNotices(new Map([["shop", 100]]), 60_000)
    if (notices.length === 0) break
    for (const { id, payment: about, status } of notices) {
      told.push(`${about.paymentId} ${status}`)
      yield* store.closeNotice(id)
    }
  }
  assert.deepStrictEqual(
    told.toSorted(),
    [
      ...["queued", "planned", "sent", "replaced", "included", "final", "back"].flatMap(ends),
      "pay_failed failed"
    ].toSorted()
  )
  yield* store.claim(payment("new"), undefined)
  assert.strictEqual((yield* store.page(0n, 100)).at(-1)?.paymentId, "pay_new")
})

/** Upgrades through each schema separately, as an operator who skips no release. */
const stepByStep = (dialect: SqlDialect.Dialect) =>
  Effect.forEach(Migrations.all, (_, place) => SchemaUpgrade.upgrade(dialect, Migrations.all.slice(0, place + 1)), {
    discard: true
  })

describe("an upgrade", () => {
  it("has a release to begin with", () => assert.include(PackedRelease.versions, "0.1.0"))

  for (const version of PackedRelease.versions) {
    for (const way of ["at once", "step by step"]) {
      it.live(`from ${version} of a file, ${way}, keeps every payment, and they go on`, () =>
        Effect.gen(function* () {
          const filename = yield* DatabaseFile.filename
          const before = yield* populated(version, filename)
          if (way === "step by step") {
            yield* Effect.scoped(
              Effect.flatMap(SqliteFile.open({ filename }), (file) =>
                Effect.provideServiceEffect(
                  stepByStep(SqlDialect.sqlite),
                  SqlClient.SqlClient,
                  SqliteFile.toClient(file)
                )
              )
            )
          }
          const store = yield* SqlitePaymentStore.make({ filename })
          yield* isKept(store, before)
          yield* goesOn(store, LaneLeases.soleEpoch + 1)
        })
      )
    }

    it.live(`from ${version} of a PostgreSQL database keeps every payment, and they go on`, () =>
      Effect.gen(function* () {
        const server = yield* PostgresServer.make
        for (const way of ["at once", "step by step"]) {
          const url = yield* server.database
          const before = yield* populated(version, Redacted.value(url))
          if (way === "step by step") {
            yield* Effect.scoped(
              Effect.provideServiceEffect(
                stepByStep(SqlDialect.postgres),
                SqlClient.SqlClient,
                Effect.provide(PgClient.makeClient({ url }), Reactivity.layer)
              )
            )
          }
          const context = yield* Layer.build(PostgresPaymentStore.layer({ url }))
          const store = Context.get(context, PaymentStore.PaymentStore)
          yield* isKept(store, before)
          yield* goesOn(store, 2)
        }
      })
    )

    it.live(
      `from ${version} of a PostgreSQL database begins again where it and another's work wait for each other`,
      () =>
        Effect.gen(function* () {
          const server = yield* PostgresServer.make
          const url = yield* server.database
          const before = yield* populated(version, Redacted.value(url))
          const other = yield* Effect.provide(PgClient.makeClient({ url }), Reactivity.layer)
          const upgrading = yield* other.withTransaction(
            Effect.gen(function* () {
              // The database breaks the circle after a second, at the expense of whoever looks for one: the upgrade.
              yield* other.unsafe("SET LOCAL deadlock_timeout = '1h'")
              yield* other.unsafe("LOCK TABLE payment IN ACCESS SHARE MODE")
              const fiber = yield* Effect.forkScoped(Layer.build(PostgresPaymentStore.layer({ url })))
              yield* Effect.repeat(
                other.unsafe("SELECT 1 FROM pg_locks WHERE relation = 'payment'::regclass AND NOT granted"),
                {
                  until: (rows) => rows.length > 0,
                  schedule: Schedule.spaced(20)
                }
              )
              yield* other.unsafe("LOCK TABLE event IN ACCESS SHARE MODE")
              return fiber
            })
          )
          const context = yield* Fiber.join(upgrading)
          yield* isKept(Context.get(context, PaymentStore.PaymentStore), before)
        })
    )
  }
})
