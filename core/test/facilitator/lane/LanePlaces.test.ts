/** The lane of payers who send their own transactions: one payer's trouble, or one caller's, delays no other. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import type { SchemeFacilitator, SubmitResult } from "../../../src/scheme/SchemeFacilitator.ts"
import * as LedgerShop from "../LedgerShop.ts"

const { claim, pay } = LedgerShop

/** Callers wait longer than anything here takes. */
const patient = { settleTimeoutMillis: 600_000, lanes: [] }

/** The node says this to transactions of payers of these names, and no block ever takes them. */
const stuck =
  (answer: SubmitResult, of: RegExp = /loud/) =>
  (scheme: SchemeFacilitator): SchemeFacilitator => ({
    ...scheme,
    submit: (prepared) => (of.test(prepared.transaction) ? Effect.succeed(answer) : scheme.submit(prepared))
  })

const open = Effect.fnUntraced(function* (options: LedgerShop.Options) {
  const shop = yield* LedgerShop.open({ ...patient, ...options })
  for (const name of ["loud", "quiet", "calm"]) shop.ledger.deposit(`acct-${name}`, 10n ** 9n)
  return shop
})

/** Sixty payers. */
const crowd = (index: number) => `acct-loud-${index % 60}`

type Shop = Effect.Success<ReturnType<typeof open>>

/** Presents a number of payments of a payer, through a caller, at once. */
const flood = Effect.fnUntraced(function* (
  { facilitator }: Shop,
  count: number,
  payer: (index: number) => string,
  caller = ""
) {
  for (let index = 0; index < count; index++) {
    const request = yield* pay({ payer: payer(index) })
    yield* Effect.forkDetach(
      LedgerShop.as(caller, Effect.exit(facilitator.settle(request, claim(`${caller}${index}`))))
    )
  }
  yield* TestClock.adjust("1 second")
})

/** Seconds from the presentation of a payment to its settlement, by looks every half second. */
const wait = Effect.fnUntraced(function* ({ facilitator }: Shop, payer: string, caller = "") {
  const began = yield* Clock.currentTimeMillis
  const request = yield* pay({ payer })
  const settling = yield* Effect.forkDetach(
    LedgerShop.as(
      caller,
      Effect.andThen(facilitator.settle(request, claim(`${caller}${payer}`)), Clock.currentTimeMillis)
    )
  )
  for (let look = 0; look < 130 && settling.pollUnsafe() === undefined; look++) yield* TestClock.adjust("500 millis")
  return ((yield* Fiber.join(settling)) - began) / 1000
})

const onTheirWay = ({ store }: Shop, name: string) =>
  Effect.map(store.page(0n, 10_000), (all) =>
    all.filter(
      ({ authorization, status }) => authorization.payer.includes(name) && ["planned", "sent"].includes(status)
    )
  )

describe("a payer's many payments", () => {
  for (const answer of [{ _tag: "Accepted" }, { _tag: "Known" }, { _tag: "Outdated", message: "SIGERROR" }] as const) {
    it.effect(`that the node calls ${answer._tag} and never takes keep no other payer waiting`, () =>
      Effect.gen(function* () {
        const shop = yield* open({ scheme: stuck(answer) })
        yield* flood(shop, 300, () => "acct-loud")
        assert.lengthOf(yield* onTheirWay(shop, "loud"), 8)
        assert.isAtMost(yield* wait(shop, "acct-quiet"), 1)
      })
    )
  }

  it.effect("behind which more wait than a lane looks at keep no other payer waiting", () =>
    Effect.gen(function* () {
      const shop = yield* open({ scheme: stuck({ _tag: "Known" }) })
      yield* flood(shop, 1_200, () => "acct-loud")
      assert.isAtMost(yield* wait(shop, "acct-quiet"), 1)
    })
  )

  it.effect("that wait for each other are all settled, and those over by then end", () =>
    Effect.gen(function* () {
      const shop = yield* open({})
      yield* flood(shop, 40, () => "acct-calm")
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(shop.ledger.transfers.length, 40)
      const late = yield* open({ scheme: stuck({ _tag: "Known" }) })
      yield* flood(late, 20, () => "acct-loud")
      yield* TestClock.adjust("10 minutes")
      const states = (yield* late.store.page(0n, 100)).map(({ status }) => status)
      assert.deepStrictEqual(new Set(states), new Set(["expired"]))
    })
  )
})

describe("a payer one of whose transactions came into no block", () => {
  it.effect("has one at a time on its way, for an hour", () =>
    Effect.gen(function* () {
      const shop = yield* open({ scheme: stuck({ _tag: "Known" }) })
      yield* flood(shop, 3, () => "acct-loud")
      assert.lengthOf(yield* onTheirWay(shop, "loud"), 3)
      yield* TestClock.adjust("90 seconds")
      assert.lengthOf(yield* onTheirWay(shop, "loud"), 0)
      yield* flood(shop, 3, () => "acct-loud", "again")
      assert.lengthOf(yield* onTheirWay(shop, "loud"), 1)
      yield* flood(shop, 3, () => "acct-calm")
      yield* TestClock.adjust("2 hours")
      yield* flood(shop, 3, () => "acct-loud", "later")
      assert.lengthOf(yield* onTheirWay(shop, "loud"), 3)
      assert.strictEqual(shop.ledger.transfers.length, 3)
    })
  )
})

describe("many payers' transactions", () => {
  for (const answer of [{ _tag: "Known" }, { _tag: "Outdated", message: "BANDWITH_ERROR" }] as const) {
    it.effect(`that the node calls ${answer._tag} take no places`, () =>
      Effect.gen(function* () {
        const shop = yield* open({ scheme: stuck(answer) })
        for (let index = 0; index < 60; index++) shop.ledger.deposit(crowd(index), 10n ** 9n)
        yield* flood(shop, 400, crowd)
        assert.lengthOf(yield* onTheirWay(shop, "loud"), 400)
        assert.isAtMost(yield* wait(shop, "acct-quiet"), 1)
      })
    )
  }

  it.effect(
    "however many, that come into no block delay no other payer, and in a crowded lane each payer has one of them",
    () =>
      Effect.gen(function* () {
        const shop = yield* open({
          scheme: (scheme) => ({ ...stuck({ _tag: "Known" })(scheme), shares: { payer: 8, caller: 16 } }),
          capacity: 16
        })
        for (let index = 0; index < 60; index++) shop.ledger.deposit(crowd(index), 10n ** 9n)
        yield* flood(shop, 300, crowd)
        const stuckNow = (yield* onTheirWay(shop, "loud")).length
        assert.isBelow(stuckNow, 100)
        assert.isAtMost(yield* wait(shop, "acct-quiet"), 1)
      })
  )

  it.effect("that a node takes and no block does lose their places after twelve seconds", () =>
    Effect.gen(function* () {
      const shop = yield* open({ scheme: stuck({ _tag: "Accepted" }) })
      for (let index = 0; index < 60; index++) shop.ledger.deposit(crowd(index), 10n ** 9n)
      yield* flood(shop, 400, crowd)
      assert.lengthOf(yield* onTheirWay(shop, "loud"), 256)
      assert.isAtMost(yield* wait(shop, "acct-quiet"), 14)
    })
  )

  it.effect("that a node takes and no block does, of one caller, keep no other caller waiting", () =>
    Effect.gen(function* () {
      const shop = yield* open({ scheme: stuck({ _tag: "Accepted" }) })
      for (let index = 0; index < 60; index++) shop.ledger.deposit(crowd(index), 10n ** 9n)
      yield* flood(shop, 400, crowd, "one")
      assert.lengthOf(yield* onTheirWay(shop, "loud"), 128)
      assert.isAtMost(yield* wait(shop, "acct-quiet", "other"), 1)
    })
  )
})

describe("a lane of a signer that is full", () => {
  it.effect("serves another payer before the rest of a payer's many", () =>
    Effect.gen(function* () {
      const shop = yield* LedgerShop.open({ ...patient, lanes: ["signer-1"], capacity: 4 })
      shop.ledger.deposit("acct-loud", 10n ** 9n)
      shop.ledger.deposit("acct-quiet", 10n ** 9n)
      shop.ledger.faults.holdBlocks = true
      yield* flood(shop, 600, () => "acct-loud")
      const request = yield* pay({ payer: "acct-quiet" })
      const settling = yield* Effect.forkDetach(shop.facilitator.settle(request, claim("quiet")))
      yield* TestClock.adjust("1 second")
      for (let block = 0; block < 3; block++) {
        shop.ledger.mine()
        yield* TestClock.adjust("2 seconds")
      }
      assert.strictEqual((yield* Fiber.join(settling)).status, "included")
      assert.isBelow(shop.ledger.transfers.length, 20)
    })
  )
})
