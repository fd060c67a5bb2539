import { assert, describe, it } from "@effect/vitest"
import { ChainUnavailable, FacilitatorUnavailable } from "@pontage/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as TestFacilitator from "./TestFacilitator.ts"

const { half, json, network, start } = TestFacilitator

const signer = (balance: bigint) => Effect.succeed([{ address: "0xsigner", balance }])
const down = Effect.fail(new ChainUnavailable({ network, message: "down" }))
const closed = () => Effect.fail(new FacilitatorUnavailable({ message: "the store is closed" }))
const place = { scheme: "exact", network }

describe("ready", () => {
  it.live("where the store and every chain answer and every signer has gas money", () =>
    Effect.gen(function* () {
      const { get } = yield* start({}, { minimumGas: 5n }, [half(signer(5n))])
      const answer = yield* get("/ready")
      assert.strictEqual(answer.status, 200)
      const signers = [{ address: "0xsigner", balance: "5", sufficient: true }]
      assert.deepStrictEqual(yield* json(answer), {
        ready: true,
        store: true,
        chains: [{ ...place, reachable: true, signers }],
        lanes: []
      })
    })
  )

  it.live("not where a signer is short of gas money, one wei being the least", () =>
    Effect.gen(function* () {
      const short = yield* start({}, { minimumGas: 6n }, [half(signer(5n))])
      const answer = yield* short.get("/ready")
      assert.strictEqual(answer.status, 503)
      const signers = [{ address: "0xsigner", balance: "5", sufficient: false }]
      assert.deepStrictEqual(yield* json(answer), {
        ready: false,
        store: true,
        chains: [{ ...place, reachable: true, signers }],
        lanes: []
      })
      const empty = yield* start({}, {}, [half(signer(0n))])
      assert.strictEqual((yield* empty.get("/ready")).status, 503)
    })
  )

  it.live("not where one of the chains cannot be asked", () =>
    Effect.gen(function* () {
      const { get } = yield* start({}, {}, [half(signer(5n)), half(down)])
      const answer = yield* get("/ready")
      assert.strictEqual(answer.status, 503)
      assert.deepInclude(yield* json(answer), { ready: false, store: true })
      assert.strictEqual((yield* get("/live")).status, 200)
    })
  )

  it.live("not where the store cannot be asked", () =>
    Effect.gen(function* () {
      const { get } = yield* start({}, {}, undefined, { find: closed })
      const answer = yield* get("/ready")
      assert.strictEqual(answer.status, 503)
      assert.deepInclude(yield* json(answer), { ready: false, store: false })
    })
  )

  it.effect("asks the chains once in two seconds, however often it is asked", () =>
    Effect.gen(function* () {
      let questions = 0
      const counting = Effect.suspend(() => (questions++, signer(5n)))
      const { get } = yield* start({}, {}, [half(counting)])
      yield* get("/ready")
      yield* get("/ready")
      yield* get("/metrics")
      assert.strictEqual(questions, 1)
      yield* TestClock.adjust("2 seconds")
      yield* get("/ready")
      assert.strictEqual(questions, 2)
    })
  )

  it.effect("gives a silent chain two seconds", () =>
    Effect.gen(function* () {
      const asked = yield* Deferred.make<void>()
      const { get } = yield* start({}, {}, [half(Effect.andThen(Deferred.succeed(asked, undefined), Effect.never))])
      const fiber = yield* Effect.forkChild(get("/ready"))
      yield* Deferred.await(asked)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).status, 503)
    })
  )

  it.live("the signers' balances are in the metrics, exactly", () =>
    Effect.gen(function* () {
      const { get } = yield* start({}, {}, [half(signer(10n ** 18n + 1n))])
      const metrics = yield* Effect.flatMap(get("/metrics"), (answer) => Effect.promise(() => answer.text()))
      assert.include(
        metrics,
        `pontage_signer_gas_balance{network="${network}",address="0xsigner"} 1000000000000000001\n`
      )
    })
  )
})
