/**
 * A large difference between this machine's clock and a chain's: nothing is judged, and the operator gets both times.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/testing/TestClock"

import * as ChainClock from "../../../src/facilitator/local/ChainClock.ts"
import type { PaymentFailure } from "../../../src/protocol/PaymentFailure.ts"
import { ChainUnavailable } from "../../../src/protocol/ProtocolError.ts"
import type { SchemeFacilitator } from "../../../src/scheme/SchemeFacilitator.ts"
import * as LedgerShop from "../LedgerShop.ts"

const seconds = LedgerShop.start / 1000

/** A shop whose chain has this time and counts its requests, with a captured log. */
const opened = Effect.fnUntraced(function* (time: () => number) {
  const logged: Array<string> = []
  const log = Logger.layer([Logger.make(({ message }) => void logged.push(String(message)))])
  let asked = 0
  const telling = Effect.suspend(() => {
    asked++
    return Effect.succeed(time())
  })
  const shop = yield* Effect.provide(
    LedgerShop.open({ scheme: (scheme): SchemeFacilitator => ({ ...scheme, time: telling }), settleTimeoutMillis: 0 }),
    log
  )
  return { ...shop, log, logged, asked: () => asked }
})

const word = <A>(asking: Effect.Effect<A, PaymentFailure>) =>
  Effect.match(asking, {
    onSuccess: () => "ok",
    onFailure: (error) => ("detail" in error ? error.detail : error._tag)
  })

describe("a clock that is far from the chain's", () => {
  for (const apart of [31, -31, 300, -300, 86_400, -86_400]) {
    it.effect(`by ${apart} seconds judges nothing, good or bad, and says so once with both times`, () =>
      Effect.gen(function* () {
        let passed = 0
        const { facilitator, log, logged } = yield* opened(() => seconds + passed - apart)
        const good = yield* LedgerShop.pay()
        const over = yield* LedgerShop.pay({ validFor: 1 })
        const early = yield* LedgerShop.pay({ validAfter: seconds + 60, validFor: 120 })
        const long = yield* LedgerShop.pay({ validFor: 1_000 })
        for (const request of [good, over, early, long]) {
          const asking = Effect.provide(word(facilitator.verify(request)), log)
          assert.strictEqual(yield* asking, "ChainUnavailable")
          const claiming = facilitator.claim(request, LedgerShop.claim("one"))
          assert.strictEqual(yield* Effect.provide(word(claiming), log), "ChainUnavailable")
        }
        const lines = logged.filter((line) => /clock/.test(line))
        assert.lengthOf(lines, 1)
        assert.include(lines[0], new Date(LedgerShop.start).toISOString())
        assert.include(lines[0], new Date(LedgerShop.start - apart * 1000).toISOString())
        assert.match(lines[0] ?? "", new RegExp(`${Math.abs(apart)} seconds ${apart > 0 ? "ahead of" : "behind"}`))
        yield* TestClock.adjust("1 minute")
        passed = 60
        yield* Effect.provide(word(facilitator.verify(good)), log)
        assert.lengthOf(
          logged.filter((line) => /clock/.test(line)),
          2
        )
      })
    )
  }

  it.effect("says of the terms of an offer what no clock decides", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* opened(() => 0)
      const request = yield* LedgerShop.pay()
      const other = { ...request, paymentRequirements: { ...LedgerShop.requirements, payTo: "acct-other" } }
      assert.strictEqual(yield* word(facilitator.verify(other)), "other_recipient")
    })
  )

  it.effect("answers of a payment on record from its record, and judges again once it is right", () =>
    Effect.gen(function* () {
      let apart = 0
      const { facilitator } = yield* opened(() => seconds + 3 + apart)
      const request = yield* LedgerShop.pay()
      const claim = LedgerShop.claim("one")
      assert.strictEqual((yield* facilitator.claim(request, claim)).execution, "granted")
      apart = 600
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* facilitator.claim(request, claim)).execution, "granted")
      const next = yield* LedgerShop.pay()
      assert.strictEqual(yield* word(facilitator.verify(next)), "ChainUnavailable")
      apart = 0
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual(yield* word(facilitator.verify(next)), "ok")
    })
  )
})

describe("a clock that is as good as the chain's", () => {
  for (const apart of [0, 12, 30, -30]) {
    it.effect(`by ${apart} seconds judges as ever`, () =>
      Effect.gen(function* () {
        const { facilitator } = yield* opened(() => seconds - apart)
        assert.strictEqual(yield* word(facilitator.verify(yield* LedgerShop.pay())), "ok")
        assert.strictEqual(yield* word(facilitator.verify(yield* LedgerShop.pay({ validFor: 1 }))), "expired")
      })
    )
  }

  it.effect("is held against it once in two seconds at most, and at once when it jumps, either way", () =>
    Effect.gen(function* () {
      const { asked, facilitator } = yield* opened(() => seconds)
      const request = yield* LedgerShop.pay({ validFor: 90 })
      for (let copy = 0; copy < 10; copy++) yield* word(facilitator.verify(request))
      assert.isAtMost(asked(), 2)
      const before = asked()
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(yield* word(facilitator.verify(request)), "ok")
      assert.strictEqual(asked(), before + 1)
      for (const jump of [3_600_000, -7_200_000]) {
        yield* TestClock.setTime(LedgerShop.start + jump)
        assert.strictEqual(yield* word(facilitator.verify(request)), "ChainUnavailable")
      }
    })
  )

  it.effect("is no verdict either where the chain does not tell its time", () =>
    Effect.gen(function* () {
      const down = Effect.fail(new ChainUnavailable({ network: "test:1", message: "down" }))
      const { facilitator } = yield* LedgerShop.open({ scheme: (scheme) => ({ ...scheme, time: down }) })
      assert.strictEqual(yield* word(facilitator.verify(yield* LedgerShop.pay({ validFor: 1 }))), "ChainUnavailable")
      const silent = yield* LedgerShop.open()
      assert.isUndefined(yield* ChainClock.compare(silent.scheme))
      assert.strictEqual(yield* word(silent.facilitator.verify(yield* LedgerShop.pay({ validFor: 1 }))), "expired")
    })
  )

  it("names times beyond what a date can be as they are", () => {
    const words = ChainClock.toText("test:1", { own: 0, chain: 1e15, isApart: true })
    assert.strictEqual(
      words,
      "this machine's clock (1970-01-01T00:00:00.000Z) is 1000000000000000 seconds behind the time of test:1 (1000000000000000)"
    )
  })
})
