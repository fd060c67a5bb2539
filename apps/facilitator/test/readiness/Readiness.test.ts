import { assert, describe, it } from "@effect/vitest"
import { ChainUnavailable, FacilitatorUnavailable, type PaymentStore } from "@pontage/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as ApiKey from "../../src/callers/ApiKey.ts"
import * as DeliveryCheck from "../../src/readiness/DeliveryCheck.ts"
import * as TestFacilitator from "../TestFacilitator.ts"

const { json, network, schemeWith, start } = TestFacilitator

const signer = (balance: bigint) => Effect.succeed([{ address: "0xsigner", balance }])
const down = Effect.fail(new ChainUnavailable({ network, message: "down" }))
const closed = () => Effect.fail(new FacilitatorUnavailable({ message: "the store is closed" }))
const place = { scheme: "exact", network }

describe("ready", () => {
  it.live("where the store and every chain answer and every signer has enough gas", () =>
    Effect.gen(function* () {
      const { get } = yield* start({}, { minimumGas: () => 5n }, [schemeWith(signer(5n))])
      const answer = yield* get("/ready")
      assert.strictEqual(answer.status, 200)
      const signers = [{ address: "0xsigner", balance: "5", sufficient: true }]
      assert.deepStrictEqual(yield* json(answer), {
        ready: true,
        store: true,
        chains: [{ ...place, reachable: true, signers }],
        lanes: [],
        checks: [
          { name: "records", troubles: [] },
          { name: "lanes", troubles: [] },
          { name: `chain ${network}`, troubles: [] },
          { name: `branch ${network}`, troubles: [] }
        ]
      })
    })
  )

  it.live("where deliveries to another network are stuck, which it reports and counts", () =>
    Effect.gen(function* () {
      const onward = { destination: () => undefined, observe: () => Effect.die("nothing is observed") }
      const open: ReadonlyArray<PaymentStore.OpenDeliveries> = [
        { from: network, to: "eip155:10", status: "pending", count: 3 },
        { from: network, to: "eip155:10", status: "stuck", count: 2 }
      ]
      const { get } = yield* start({}, {}, [schemeWith(signer(5n), { onward })], {
        openDeliveries: Effect.succeed(open)
      })
      const answer = yield* get("/ready")
      assert.strictEqual(answer.status, 200)
      const report = yield* json(answer)
      assert.deepInclude(report, {
        ready: true,
        deliveries: [{ from: network, to: "eip155:10", pending: 3, stuck: 2 }]
      })
      const trouble = {
        kind: "delivery_stuck",
        problem: `2 payments have left ${network} and are stuck on their way to eip155:10`,
        mend: "GET /payments names each one's reason in delivery.detail; the service goes on trying"
      }
      assert.deepNestedInclude(report, { "checks[2]": { name: "deliveries", troubles: [trouble] } })
      const shown = (count: number) =>
        `pontage_delivery_open{from="${network}",to="eip155:10",status="stuck"} ${count}\n`
      const metrics = Effect.flatMap(get("/metrics"), (response) => Effect.promise(() => response.text()))
      assert.include(yield* metrics, shown(2))
    })
  )

  it.effect("no longer counts a delivery that is over", () =>
    Effect.gen(function* () {
      let open: ReadonlyArray<PaymentStore.OpenDeliveries> = [{ from: "a:a", to: "b:b", status: "stuck", count: 1 }]
      const check = DeliveryCheck.make(TestFacilitator.store({ openDeliveries: Effect.sync(() => open) }))
      assert.strictEqual((yield* check.run).troubles.length, 1)
      open = []
      const { deliveries, troubles } = yield* check.run
      assert.deepStrictEqual(troubles, [])
      assert.deepStrictEqual(deliveries, [{ from: "a:a", to: "b:b", pending: 0, stuck: 0 }])
    })
  )

  it.live("not where a signer has too little gas; the default minimum is one wei", () =>
    Effect.gen(function* () {
      const short = yield* start({}, { minimumGas: () => 6n }, [schemeWith(signer(5n))])
      const answer = yield* short.get("/ready")
      assert.strictEqual(answer.status, 503)
      const signers = [{ address: "0xsigner", balance: "5", sufficient: false }]
      const report = yield* json(answer)
      assert.deepInclude(report, {
        ready: false,
        store: true,
        chains: [{ ...place, reachable: true, signers }],
        lanes: []
      })
      const problem = `the signer 0xsigner holds 5 of the smallest native unit on ${network}, less than the minimum of 6`
      assert.deepNestedInclude(report, {
        "checks[2]": {
          name: `chain ${network}`,
          troubles: [{ kind: "gas_short", problem, mend: "send gas money to it" }]
        }
      })
      const empty = yield* start({}, {}, [schemeWith(signer(0n))])
      assert.strictEqual((yield* empty.get("/ready")).status, 503)
    })
  )

  it.live("not where one of the chains does not respond", () =>
    Effect.gen(function* () {
      const { get } = yield* start({}, {}, [
        schemeWith(signer(5n)),
        schemeWith(down, { network: TestFacilitator.otherNetwork })
      ])
      const answer = yield* get("/ready")
      assert.strictEqual(answer.status, 503)
      assert.deepInclude(yield* json(answer), { ready: false, store: true })
      assert.strictEqual((yield* get("/live")).status, 200)
    })
  )

  it.live("not where the store does not respond", () =>
    Effect.gen(function* () {
      const { get } = yield* start({}, {}, undefined, { probe: closed() })
      const answer = yield* get("/ready")
      assert.strictEqual(answer.status, 503)
      assert.deepInclude(yield* json(answer), { ready: false, store: false })
    })
  )

  it.effect("sends the chains one request in two seconds, however often it is requested", () =>
    Effect.gen(function* () {
      let requests = 0
      const counting = Effect.suspend(() => (requests++, signer(5n)))
      const { get } = yield* start({}, {}, [schemeWith(counting)])
      yield* get("/ready")
      yield* get("/ready")
      yield* get("/metrics")
      assert.strictEqual(requests, 1)
      yield* TestClock.adjust("2 seconds")
      yield* get("/ready")
      assert.strictEqual(requests, 2)
    })
  )

  it.effect("checks again after two seconds, even when the clock is set back meanwhile", () =>
    Effect.gen(function* () {
      const { set, withIt } = yield* TestFacilitator.wallClock
      set(3_600_000)
      let requests = 0
      const counting = Effect.suspend(() => (requests++, signer(5n)))
      const { get } = yield* withIt(start({}, {}, [schemeWith(counting)]))
      yield* withIt(get("/ready"))
      set(0)
      yield* withIt(get("/ready"))
      assert.strictEqual(requests, 1)
      yield* TestClock.adjust("2 seconds")
      yield* withIt(get("/ready"))
      assert.strictEqual(requests, 2)
    })
  )

  it.effect("gives a silent chain two seconds", () =>
    Effect.gen(function* () {
      const asked = yield* Deferred.make<void>()
      const { get } = yield* start({}, {}, [
        schemeWith(Effect.andThen(Deferred.succeed(asked, undefined), Effect.never))
      ])
      const fiber = yield* Effect.forkChild(get("/ready"))
      yield* Deferred.await(asked)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).status, 503)
    })
  )

  it.effect("gives a silent store two seconds", () =>
    Effect.gen(function* () {
      const asked = yield* Deferred.make<void>()
      const probe = Effect.andThen(Deferred.succeed(asked, undefined), Effect.never)
      const { get } = yield* start({}, {}, undefined, { probe })
      const fiber = yield* Effect.forkChild(get("/ready"))
      yield* Deferred.await(asked)
      yield* TestClock.adjust("2 seconds")
      const answer = yield* Fiber.join(fiber)
      assert.strictEqual(answer.status, 503)
      assert.deepInclude(yield* json(answer), { ready: false, store: false })
    })
  )

  it.live("the metrics have the exact balances of the signers", () =>
    Effect.gen(function* () {
      const { get } = yield* start({}, {}, [schemeWith(signer(10n ** 18n + 1n))])
      const metrics = yield* Effect.flatMap(get("/metrics"), (answer) => Effect.promise(() => answer.text()))
      assert.include(
        metrics,
        `pontage_signer_gas_balance{network="${network}",address="0xsigner"} 1000000000000000001\n`
      )
    })
  )
})

const lane = "0xlane"
const schemes = [schemeWith(signer(5n), { lanes: [lane] })]

/** A record in the queue. */
const waiting = (paymentId: string, caller = ""): PaymentStore.StoredPayment => ({
  ...TestFacilitator.stored,
  paymentId,
  caller,
  status: "accepted"
})

const transaction = (number: bigint, status: "sent" | "included"): PaymentStore.LaneTransaction => ({
  lane,
  number,
  attempts: [],
  payments: [{ ...TestFacilitator.stored, status }],
  inclusion: undefined
})

/** A lane whose queue and transactions a test changes. */
const laneOf = () => {
  const state: {
    queue: Array<PaymentStore.StoredPayment>
    transactions: Array<PaymentStore.LaneTransaction>
    spent: bigint
  } = {
    queue: [],
    transactions: [],
    spent: 0n
  }
  const asked: Array<unknown> = []
  const pending = () => state.transactions.filter(({ payments }) => payments.some(({ status }) => status === "sent"))
  return {
    state,
    asked,
    records: {
      loads: (lanes: ReadonlyArray<string>) =>
        Effect.sync(() => new Map(lanes.map((name) => [name, state.queue.length + pending().length]))),
      queued: (_: string, limit: number) => Effect.sync(() => state.queue.slice(0, limit)),
      openTransactions: () => Effect.sync(() => state.transactions),
      spent: (...question: ReadonlyArray<unknown>) => Effect.sync(() => (asked.push(question), state.spent))
    }
  }
}

describe("a lane", () => {
  it.effect("stands still when the first payment of its queue has waited for a minute and no transaction began", () =>
    Effect.gen(function* () {
      const { records, state } = laneOf()
      const { get } = yield* start({}, {}, schemes, records)
      const statusAfter = (time: "30 seconds" | "31 seconds") =>
        Effect.andThen(
          TestClock.adjust(time),
          Effect.map(get("/ready"), ({ status }) => status)
        )
      state.queue = [waiting("a")]
      assert.strictEqual(yield* statusAfter("30 seconds"), 200)
      assert.strictEqual(yield* statusAfter("31 seconds"), 200)
      assert.strictEqual(yield* statusAfter("30 seconds"), 503)
      state.transactions = [transaction(7n, "sent")]
      assert.strictEqual(yield* statusAfter("31 seconds"), 200)
      assert.strictEqual(yield* statusAfter("30 seconds"), 200)
      state.queue = [waiting("b")]
      assert.strictEqual(yield* statusAfter("31 seconds"), 200)
      assert.strictEqual(yield* statusAfter("31 seconds"), 200)
      assert.strictEqual(yield* statusAfter("30 seconds"), 503)
      state.queue = []
      assert.strictEqual(yield* statusAfter("31 seconds"), 200)
      assert.strictEqual((yield* get("/live")).status, 200)
    })
  )

  it.effect("counts its minute by no clock that is set forth or back", () =>
    Effect.gen(function* () {
      const { set, withIt } = yield* TestFacilitator.wallClock
      const { records, state } = laneOf()
      const { get } = yield* withIt(start({}, {}, schemes, records))
      const status = Effect.map(get("/ready"), (answer) => answer.status)
      state.queue = [waiting("a")]
      assert.strictEqual(yield* status, 200)
      set(3_600_000)
      yield* TestClock.adjust("31 seconds")
      assert.strictEqual(yield* status, 200)
      set(-3_600_000)
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual(yield* status, 503)
    })
  )

  it.effect("does not count as still because of a payment whose caller has a gas ceiling of its own", () =>
    Effect.gen(function* () {
      const { records, state } = laneOf()
      const callers = [
        { name: "capped", keys: [ApiKey.digestOf("key-of-capped")], gasCeilings: new Map([[network, 1n]]) }
      ]
      const { get } = yield* start({}, { callers }, schemes, records)
      state.queue = [waiting("a", "capped")]
      for (let minutes = 0; minutes < 3; minutes++) {
        assert.strictEqual((yield* get("/ready")).status, 200)
        yield* TestClock.adjust("61 seconds")
      }
      state.queue = [waiting("a", "capped"), waiting("b", "free")]
      assert.strictEqual((yield* get("/ready")).status, 200)
      yield* TestClock.adjust("61 seconds")
      assert.strictEqual((yield* get("/ready")).status, 503)
    })
  )

  it.effect("does not count as still because of an expired payment that waits for the proof of its end", () =>
    Effect.gen(function* () {
      const { authorization } = TestFacilitator.stored
      yield* TestClock.setTime(authorization.validBefore * 1000)
      const { records, state } = laneOf()
      const { get } = yield* start({}, {}, schemes, records)
      const back = { ...waiting("back"), since: 7n }
      state.queue = [back]
      for (let minutes = 0; minutes < 3; minutes++) {
        assert.strictEqual((yield* get("/ready")).status, 200)
        yield* TestClock.adjust("61 seconds")
      }
      state.queue = [
        back,
        { ...waiting("still valid"), since: 7n, authorization: { ...authorization, validBefore: 2 ** 40 } }
      ]
      assert.strictEqual((yield* get("/ready")).status, 200)
      yield* TestClock.adjust("61 seconds")
      assert.strictEqual((yield* get("/ready")).status, 503)
    })
  )

  it.effect("is in the report and in the metrics, with its costs", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_700_000_000_000)
      const { asked, records, state } = laneOf()
      const callers = [
        { name: "capped", keys: [ApiKey.digestOf("key-of-capped")], gasCeilings: new Map([[network, 1n]]) }
      ]
      const counting = schemes.map((scheme) => ({ ...scheme, nextSlot: () => Effect.succeed(5n) }))
      const others = Effect.succeed([`${network} ${lane}`, `${network} 0xgone`, "eip155:404 0xgone"])
      const { get } = yield* start({}, { callers }, counting, { ...records, lanesInUse: others })
      state.queue = [waiting("a", "capped"), waiting("b", "capped")]
      const inclusion = { transaction: "0x1", block: { number: 1n, hash: "0x1" }, cost: 1n }
      state.transactions = [transaction(7n, "sent"), { ...transaction(8n, "included"), inclusion }]
      state.spent = 10n ** 18n + 1n
      const view = { network, address: lane, waiting: 2, transactions: 2, moving: true, gap: 2, signer: true }
      const gone = { ...view, address: "0xgone", gap: 0, signer: false }
      const lanes = [view, gone, { ...gone, network: "eip155:404" }]
      assert.deepInclude(yield* json(yield* get("/ready")), { lanes })
      const metrics = yield* Effect.flatMap(get("/metrics"), (answer) => Effect.promise(() => answer.text()))
      for (const line of [
        `pontage_lane_waiting{network="${network}",address="${lane}"} 2`,
        `pontage_lane_transactions{network="${network}",address="${lane}"} 2`,
        `pontage_lane_transactions_pending{network="${network}",address="${lane}"} 1`,
        `pontage_lane_moving{network="${network}",address="${lane}"} 1`,
        `pontage_gas_spent_24h{network="${network}"} 1000000000000000001`,
        `pontage_caller_gas_spent_24h{network="${network}",caller="capped"} 1000000000000000001`
      ])
        assert.include(metrics, `${line}\n`)
      const since = 1_700_000_000_000 - 24 * 3_600_000
      assert.deepStrictEqual(asked, [
        [network, since],
        [network, since, "capped"]
      ])
    })
  )

  it.live("is not in the report while the store does not respond", () =>
    Effect.gen(function* () {
      const { get } = yield* start({}, {}, schemes, { ...laneOf().records, openTransactions: closed })
      const answer = yield* get("/ready")
      assert.strictEqual(answer.status, 503)
      assert.deepInclude(yield* json(answer), { ready: false, store: false, lanes: [] })
    })
  )
})
