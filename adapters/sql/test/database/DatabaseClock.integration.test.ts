import { assert, layer } from "@effect/vitest"
import { PaymentStore } from "@pontage/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"

import { PostgresPaymentStore } from "../../src/postgres.ts"
import { PostgresServer } from "../../src/testing/index.ts"
import * as PostgresServers from "../PostgresServers.ts"
import * as TrialPayments from "../TrialPayments.ts"

const { clocked, instance } = PostgresServers
const { payment } = TrialPayments

/** The results of a process whose clock is this far ahead of the others'. */
const skewed =
  (millis: number) =>
  <A, E, R>(ask: Effect.Effect<A, E, R>) =>
    Effect.andThen(TestClock.adjust(millis), Effect.ensuring(ask, TestClock.setTime(0)))

layer(PostgresServer.layer, { timeout: 900_000 })("the database's clock", (it) => {
  it.effect.each([20_000, 600_000, 86_400_000])(
    "decides how long a run is held, and not that of an instance which is %d ms ahead",
    (ahead) =>
      Effect.gen(function* () {
        const { elapse, url } = yield* clocked
        const { store } = yield* instance(url)
        const claim = (id: string) =>
          Effect.map(store.claim(payment("run"), { id, resource: "report" }), (result) =>
            result._tag === "Claimed" ? result.execution : result._tag
          )
        assert.strictEqual(yield* claim("first"), "granted")
        yield* elapse(50_000)
        assert.strictEqual(yield* skewed(ahead)(claim("second")), "held")
        yield* elapse(9_999)
        assert.strictEqual(yield* skewed(ahead)(claim("second")), "held")
        yield* elapse(1)
        assert.strictEqual(yield* claim("second"), "granted")
      })
  )

  it.effect("decides how long a run is held that an instance claimed whose clock is behind", () =>
    Effect.gen(function* () {
      const { elapse, url } = yield* clocked
      yield* elapse(100_000)
      const { store } = yield* instance(url)
      const claim = (id: string) => store.claim(payment("run"), { id, resource: "report" })
      yield* claim("behind")
      const second = yield* skewed(100_000)(claim("right"))
      assert.strictEqual(second._tag === "Claimed" && second.execution, "held")
      assert.deepStrictEqual((yield* store.find("pay_run"))?.execution.holder, { claimId: "behind", until: 160_000 })
      assert.strictEqual((yield* store.find("pay_run"))?.history[0]?.at, 100_000)
      yield* store.probe
      assert.strictEqual(yield* store.now, 100_000)
    })
  )

  it.effect("decides when a notice is due again", () =>
    Effect.gen(function* () {
      const { elapse, url } = yield* clocked
      const { store } = yield* instance(url)
      yield* store.claim({ ...payment("told"), caller: "shop", notify: true }, undefined)
      yield* store.endUnwanted([{ paymentId: "pay_told", at: { number: 1n, hash: "0xfinal" } }])
      const take = store.takeNotices(new Map([["shop", 9]]), 60_000)
      assert.lengthOf(yield* take, 1)
      assert.lengthOf(yield* skewed(3_600_000)(take), 0)
      yield* elapse(60_000)
      assert.lengthOf(yield* take, 1)
      assert.strictEqual((yield* skewed(10 * 86_400_000)(store.giveUpNotices(86_400_000, 9))).size, 0)
    })
  )

  it.effect(
    "and this process's must be within the setting of each other, else nothing is kept and both are named",
    () =>
      Effect.gen(function* () {
        const { elapse, url } = yield* clocked
        const context = yield* Layer.build(PostgresPaymentStore.layer({ url }))
        const store = Context.get(context, PaymentStore.PaymentStore)
        yield* elapse(30_000)
        yield* store.probe
        yield* elapse(1000)
        for (const write of [store.probe, store.claim(payment("apart"), undefined)]) {
          const { message } = yield* Effect.flip(write)
          assert.include(message, "within 30 s of this process's, and is 31 s ahead of it")
          assert.include(message, "NTP")
        }
        assert.isUndefined(yield* store.find("pay_apart"))
        yield* TestClock.adjust(92_000)
        assert.include((yield* Effect.flip(store.probe)).message, "is 61 s behind it")
        yield* TestClock.setTime(31_000)
        yield* store.probe
      })
  )
})
