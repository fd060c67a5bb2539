import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import type * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"

import * as PostgresSessions from "../../src/postgres/PostgresSessions.ts"
import { PostgresServer } from "../../src/testing/index.ts"
import * as PostgresServers from "../PostgresServers.ts"
import * as TrialPayments from "../TrialPayments.ts"
import * as SilentHost from "./SilentHost.ts"

const { database, instance } = PostgresServers
const { lane, payment } = TrialPayments

/** Ends every other session of this database, as an operator or a failover would. */
const cutOff = (url: Redacted.Redacted) =>
  Effect.scoped(
    Effect.gen(function* () {
      const sql = yield* Effect.provide(PgClient.makeClient({ url }), Reactivity.layer)
      yield* sql.unsafe(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
      )
    })
  )

const soon = { schedule: Schedule.spaced(50) }

layer(PostgresServer.layer, { timeout: 900_000, excludeTestServices: true })("a database in trouble", (it) => {
  it.effect("stopped in the middle of work says FacilitatorUnavailable, has kept every answer, and works again", () =>
    Effect.gen(function* () {
      const server = yield* PostgresServer.PostgresServer
      const { store } = yield* instance(yield* database)
      for (const how of ["immediate", "fast"] as const) {
        const answered: Array<string> = []
        const faults = new Set<string>()
        let claims = 0
        let isStopped = false
        const claim = Effect.suspend(() => {
          const one = payment(`${how}-${claims++}`)
          return Effect.match(store.claim(one, undefined), {
            onFailure: (error) => void faults.add(error._tag),
            onSuccess: () => void answered.push(one.paymentId)
          })
        })
        const claimant = Effect.repeat(claim, { until: () => isStopped && faults.size > 0 })
        const busy = Effect.suspend(() => (answered.length > 40 ? Effect.void : Effect.fail("not yet")))
        const fault = Effect.andThen(Effect.retry(busy, { schedule: Schedule.spaced(1) }), server.stop(how))
        const stopped = Effect.andThen(
          fault,
          Effect.sync(() => (isStopped = true))
        )
        yield* Effect.all([...Array.from({ length: 8 }, () => claimant), stopped], { concurrency: "unbounded" })
        assert.deepStrictEqual([...faults], ["FacilitatorUnavailable"])
        assert.strictEqual((yield* Effect.flip(store.find("pay_x")))._tag, "FacilitatorUnavailable")
        yield* server.start
        const found = yield* Effect.forEach(answered, (id) => Effect.retry(store.find(id), soon))
        assert.isTrue(found.every((one) => one?.status === "accepted"))
        assert.strictEqual((yield* store.claim(payment(`after-${how}`), undefined))._tag, "Claimed")
      }
    })
  )

  it.effect("that cuts every connection is asked on new ones, and hints are heard again", () =>
    Effect.gen(function* () {
      const url = yield* database
      const [a, b] = yield* Effect.all([instance(url), instance(url)])
      yield* (yield* b.store.signals.listen("anything")).next
      for (let round = 0; round < 3; round++) {
        const ear = yield* b.store.signals.listen("anybody")
        yield* cutOff(url)
        // Notifications sent meanwhile are lost: once it listens again, all waiters are woken.
        yield* ear.next
        const waiting = yield* b.store.signals.listen(lane)
        yield* Effect.retry(a.store.claim(payment(`cut-${round}`), undefined, { lane }), soon)
        yield* waiting.next
        assert.lengthOf(yield* Effect.retry(b.store.queued(lane, 10), soon), round + 1)
      }
    })
  )

  it.effect(
    "that loses a connection in the middle of a transaction has written nothing of it, and no defect comes of it",
    () =>
      Effect.gen(function* () {
        const url = yield* database
        const { store } = yield* instance(url)
        const claims = Effect.forEach(
          Array.from({ length: 300 }, (_, index) => payment(`torn-${index}`)),
          (one) => Effect.exit(store.claim(one, undefined, { lane })),
          { concurrency: 8 }
        )
        const [exits] = yield* Effect.all([claims, Effect.repeat(cutOff(url), { times: 20 })], {
          concurrency: "unbounded"
        })
        const outcomes = new Set(
          exits.map((exit) =>
            exit._tag === "Success" ? "answered" : exit.cause.reasons.map((reason) => reason._tag).join()
          )
        )
        assert.isTrue(outcomes.has("answered"))
        assert.isFalse(
          [...outcomes].some((outcome) => outcome.includes("Die")),
          [...outcomes].join("; ")
        )
        const queued = yield* Effect.retry(store.queued(lane, 1000), soon)
        const answered = exits.flatMap((exit) =>
          exit._tag === "Success" && exit.value._tag === "Claimed" ? [exit.value.payment.paymentId] : []
        )
        const kept = new Set(queued.map(({ paymentId }) => paymentId))
        assert.isTrue(answered.every((id) => kept.has(id)))
        assert.isTrue(queued.every(({ history }) => history.length === 1))
      })
  )

  it.effect("whose host falls silent is given up, and asked again on a new session", () =>
    Effect.gen(function* () {
      const host = yield* SilentHost.make(yield* database)
      const { store } = yield* instance(host.url, { connections: 1, listens: false })
      const claim = (name: string) => store.claim(payment(name), undefined, { lane })
      yield* claim("heard")
      yield* host.silence
      const error = yield* Effect.flip(claim("unheard"))
      assert.strictEqual(error._tag, "FacilitatorUnavailable")
      assert.include(error.message, "the database has not answered within")
      yield* host.replace
      yield* Effect.retry(claim("unheard"), soon)
      assert.lengthOf(yield* store.queued(lane, 10), 2)
    })
  )

  for (const [end, result] of [
    ["COMMIT", Effect.void],
    ["ROLLBACK", Effect.fail("undo it")]
  ] as const) {
    it.effect(`whose host falls silent before ${end} keeps no session waiting for it`, () =>
      Effect.gen(function* () {
        const host = yield* SilentHost.make(yield* database)
        const sessions = yield* PostgresSessions.make({ url: host.url, maxConnections: 1 })
        const ask = sessions.transact((session) => session.query("SELECT pg_backend_pid() AS pid"))
        const before = yield* ask
        const error = yield* Effect.flip(sessions.transact(() => Effect.andThen(host.silence, result)))
        if (end === "COMMIT") assert.include(String(error), "the database has not answered within")
        else assert.strictEqual(error, "undo it")
        yield* host.replace
        assert.notDeepEqual((yield* Effect.retry(ask, soon)).rows, before.rows)
      })
    )
  }
})
