import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import { PaymentStoreLaws } from "@pontage/core/testing"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"

import { PostgresPaymentStore } from "../src/postgres.ts"
import * as Migrations from "../src/schema/Migrations.ts"
import { PostgresServer } from "../src/testing/index.ts"
import * as LawSubject from "./LawSubject.ts"
import * as PostgresServers from "./PostgresServers.ts"
import * as TrialPayments from "./TrialPayments.ts"

const { database, instance } = PostgresServers
const { lane, payment, prepared } = TrialPayments

/** Leaves it to the laws to move this process's clock: they date expectations by it. */
const trial = Layer.unwrap(
  Effect.map(PostgresServers.clocked, ({ elapse, url }) =>
    Layer.mergeAll(
      PostgresPaymentStore.layer({ url }),
      LawSubject.counting((millis) => Effect.andThen(elapse(millis), TestClock.adjust(millis)))
    )
  )
)

/** Writes a record like that of `pay_model`, in a transaction of the test's own. */
const copy = (sql: PgClient.PgClient, name: string) =>
  Effect.andThen(
    sql.unsafe(
      `INSERT INTO payment (payment_id, network, asset, payer, nonce, amount, valid_before, caller, notify, status,
         active, transaction_id, execution, answer_owed)
       SELECT $1, network, asset, payer, nonce, amount, valid_before, caller, notify, status,
         active, transaction_id, execution, answer_owed FROM payment WHERE payment_id = 'pay_model'`,
      [name]
    ),
    Effect.andThen(
      sql.unsafe(
        `INSERT INTO contract (payment, requirements, terms, payload)
         SELECT (SELECT serial FROM payment WHERE payment_id = $1), requirements, terms, payload
         FROM contract JOIN payment ON serial = payment WHERE payment_id = 'pay_model'`,
        [name]
      ),
      sql.unsafe(
        `INSERT INTO event (payment, ordinal, status, at)
         SELECT (SELECT serial FROM payment WHERE payment_id = $1), ordinal, event.status, at
         FROM event JOIN payment ON serial = payment WHERE payment_id = 'pay_model'`,
        [name]
      )
    )
  )

layer(PostgresServer.layer, { timeout: 900_000 })("on PostgreSQL", (it) => {
  it.layer(trial)("the laws of a payment store hold", (it) => {
    for (const { effect, name } of PaymentStoreLaws.all) it.effect(name, () => effect)
  })

  it.effect("of any number of claims by two instances one creates the record", () =>
    Effect.gen(function* () {
      const url = yield* database
      const [a, b] = yield* Effect.all([instance(url), instance(url)])
      for (const name of ["x", "y", "z"]) {
        const results = yield* Effect.forEach(
          Array.from({ length: 40 }, (_, index) => index),
          (index) => (index % 2 === 0 ? a : b).store.claim(payment(name), { id: `claim-${index}`, resource: "report" }),
          { concurrency: "unbounded" }
        )
        const claimed = results.flatMap((result) => (result._tag === "Claimed" ? [result] : []))
        assert.lengthOf(claimed, 40)
        assert.lengthOf(
          claimed.filter(({ created }) => created),
          1
        )
        assert.lengthOf(
          claimed.filter(({ execution }) => execution === "granted"),
          1
        )
        assert.lengthOf(
          claimed.filter(({ execution }) => execution === "held"),
          39
        )
      }
    })
  )

  it.effect("a payer's claims at two instances together never reserve more than it has", () =>
    Effect.gen(function* () {
      const url = yield* database
      const [a, b] = yield* Effect.all([instance(url), instance(url)])
      const results = yield* Effect.forEach(
        Array.from({ length: 30 }, (_, index) => index),
        (index) =>
          (index % 2 === 0 ? a : b).store.claim(
            payment(`part-${index}`, { payer: "payer", amount: 10n }),
            { id: `claim-${index}`, resource: "report" },
            { available: 70n }
          ),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(
        results.filter(({ _tag }) => _tag === "Claimed"),
        7
      )
    })
  )

  it.effect("changes of one payment by many at once are one after another, and its history is whole", () =>
    Effect.gen(function* () {
      const url = yield* database
      const [a, b] = yield* Effect.all([instance(url), instance(url)])
      const lease = { lane, epoch: 1, isValid: () => true }
      yield* a.store.claim(payment("busy"), { id: "claim", resource: "report" }, { lane })
      yield* a.store.claim(payment("owed"), undefined)
      yield* a.store.openLane(lease, 0n)
      yield* a.store.plan(lease, [{ number: 0n, prepared: prepared(0n), paymentIds: ["pay_busy"] }])
      const changes = [{ paymentId: "pay_busy", from: ["planned" as const], to: "included" as const }]
      // An execution that was settled meanwhile is spent after its end, and owed before: both depend on the history.
      yield* Effect.all(
        [
          b.store.finish("pay_busy", "claim", "failed"),
          a.store.record(lease, { changes }),
          ...Array.from({ length: 10 }, (_, index) => b.store.takeAnswer("pay_owed", `call-${index}`))
        ],
        { concurrency: "unbounded" }
      )
      const found = yield* b.store.find("pay_busy")
      assert.deepStrictEqual(
        found?.history.map(({ status }) => status),
        ["accepted", "planned", "included"]
      )
      assert.isFalse((yield* a.store.find("pay_owed"))?.answerOwed)
      const again = yield* b.store.claim(payment("busy"), { id: "other", resource: "report" })
      assert.strictEqual(again._tag === "Claimed" ? again.execution : "", "spent")
    })
  )

  it.effect("instances that start at once bring the tables up to date together, and again later", () =>
    Effect.gen(function* () {
      const url = yield* database
      yield* Effect.forEach([1, 2, 3, 4, 5], () => instance(url), { concurrency: "unbounded" })
      const { store } = yield* instance(url)
      assert.strictEqual((yield* store.claim(payment("after"), undefined))._tag, "Claimed")
      const sql = yield* Effect.provide(PgClient.makeClient({ url }), Reactivity.layer)
      const rows = yield* sql.unsafe<{ name: string }>("SELECT name FROM pontage_migration ORDER BY migration_id")
      assert.deepStrictEqual(
        rows.map(({ name }) => name),
        Migrations.all.map(({ name }) => name)
      )
    })
  )

  it.effect("an instance hears what another one writes", () =>
    Effect.gen(function* () {
      const url = yield* database
      const [a, b] = yield* Effect.all([instance(url), instance(url)])
      // All waiters are woken once the listening connection is up: from then on no notification is missed.
      yield* (yield* b.store.signals.listen("anything")).next
      const waiting = yield* b.store.signals.listen(lane)
      yield* a.store.claim(payment("heard"), undefined, { lane })
      yield* waiting.next
      const change = yield* b.store.signals.listen("pay_heard")
      const lease = { lane, epoch: 1, isValid: () => true }
      yield* a.store.openLane(lease, 0n)
      yield* a.store.plan(lease, [{ number: 0n, prepared: prepared(0n), paymentIds: ["pay_heard"] }])
      yield* a.store.record(lease, { changes: [{ paymentId: "pay_heard", from: ["planned"], to: "failed" }] })
      yield* change.next
      assert.strictEqual((yield* b.store.find("pay_heard"))?.status, "failed")
    })
  )

  it.effect("an instance that does not listen finds it by looking", () =>
    Effect.gen(function* () {
      const url = yield* database
      const [a, b] = yield* Effect.all([instance(url), instance(url, { listens: false })])
      const ear = yield* b.store.signals.listen(lane)
      const hearing = yield* Effect.forkChild(ear.next, { startImmediately: true })
      yield* a.store.claim(payment("found"), undefined, { lane })
      assert.deepStrictEqual(
        (yield* b.store.queued(lane, 10)).map(({ paymentId }) => paymentId),
        ["pay_found"]
      )
      assert.isUndefined(hearing.pollUnsafe())
    })
  )

  for (const [name, statement] of [
    ["has the lower serial", "SELECT pg_current_xact_id()::text"],
    ["has the lower serial and the later transaction", "SELECT 1"]
  ] as const) {
    it.effect(`a page waits for a record that is being written and ${name}`, () =>
      Effect.gen(function* () {
        const url = yield* database
        const { store } = yield* instance(url)
        const listed = Effect.map(store.page(0n, 10), (page) => page.map(({ paymentId }) => paymentId))
        yield* store.claim(payment("model"), undefined)
        const session = Effect.provide(PgClient.makeClient({ url }), Reactivity.layer)
        const [late, early] = [yield* session, yield* session]
        const begin = (sql: typeof late, first: string) => Effect.andThen(sql.unsafe("BEGIN"), sql.unsafe(first))
        yield* begin(early, "SELECT pg_current_xact_id()::text")
        yield* begin(late, statement)
        yield* copy(late, "pay_lower")
        yield* copy(early, "pay_higher")
        yield* early.unsafe("COMMIT")
        const reading = yield* Effect.forkChild(listed)
        // The reader waits once it has been seen to sleep.
        yield* Effect.retry(
          Effect.filterOrFail(
            early.unsafe(
              "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()"
            ),
            (rows) => rows.length > 0,
            () => "not yet"
          ),
          { while: () => true }
        )
        assert.isUndefined(reading.pollUnsafe())
        yield* late.unsafe("COMMIT")
        assert.deepStrictEqual(yield* Fiber.join(reading), ["pay_model", "pay_lower", "pay_higher"])
      })
    )
  }

  it.effect("words that PostgreSQL cannot hold do not stop a record", () =>
    Effect.gen(function* () {
      const { store } = yield* instance(yield* database)
      const odd = "a\u0000b\ud800c"
      const before = payment("odd")
      yield* store.claim({ ...before, payload: { odd } }, undefined, { lane })
      assert.deepStrictEqual((yield* store.find("pay_odd"))?.payload, { odd })
      const lease = { lane, epoch: 1, isValid: () => true }
      yield* store.openLane(lease, 0n)
      yield* store.record(lease, { changes: [{ paymentId: "pay_odd", from: ["accepted"], to: "rejected", note: odd }] })
      assert.strictEqual((yield* store.find("pay_odd"))?.history.at(-1)?.note, "a\ufffdb\ufffdc")
    })
  )

  it.effect("a wrong password is the operator's to mend, and is not told to anybody", () =>
    Effect.gen(function* () {
      const url = Redacted.value(yield* database).replace(/:[^:@/]+@/, ":a-wrong-secret@")
      const error = yield* Effect.flip(instance(Redacted.make(url)))
      assert.strictEqual(error._tag, "Misconfigured")
      assert.notInclude(JSON.stringify(error) + String(error) + error.message, "a-wrong-secret")
      assert.include(error.message, "let the user of the URL log in")
    })
  )

  it.effect("no server there is FacilitatorUnavailable, and a lease shorter than its ticks is refused", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(instance(Redacted.make("postgres://me:my-secret@127.0.0.1:1/none")))
      assert.strictEqual(error._tag, "FacilitatorUnavailable")
      assert.notInclude(JSON.stringify(error) + String(error) + error.message, "my-secret")
      const leases = { ttl: "3 seconds", tick: "1 second" } as const
      const impatient = yield* Effect.flip(instance(yield* database, { leases }))
      assert.include(impatient.message, "must be less than a third")
    })
  )
})
