import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"
import * as fc from "fast-check"

import { type JournalEntry, mayFollow } from "../../src/client/JournalEntry.ts"
import * as JournalLedger from "../../src/client/JournalLedger.ts"
import { decline } from "../../src/client/PaymentDeclined.ts"
import * as PaymentJournal from "../../src/client/PaymentJournal.ts"

const day = 24 * 60 * 60 * 1000

const entryOf = (changes: Partial<JournalEntry> = {}): JournalEntry => ({
  id: "one",
  state: "pending",
  request: "request",
  method: "GET",
  url: "https://shop.example/report",
  host: "shop.example",
  network: "eip155:8453",
  asset: "0xa",
  payTo: "0xb",
  amount: "10",
  spendings: [{ unit: "$", digits: "10", scale: 3 }],
  at: 0,
  validBefore: 60,
  paymentId: "pay_one",
  ...changes
})

const memory = () => PaymentJournal.make(PaymentJournal.memoryLog())
const allowed = () => undefined
const refused = () => decline("over_day_limit", "too much")
const spentOf = (journal: PaymentJournal.PaymentJournal["Service"], host?: string) =>
  Effect.map(journal.spent, (spent) => spent("$", host).digits)

describe("reserve", () => {
  it.effect("counts at once, everywhere and at the host", () =>
    Effect.gen(function* () {
      const journal = memory()
      yield* journal.reserve(entryOf({ state: "reserved" }), allowed)
      assert.strictEqual(yield* spentOf(journal), 10n)
      assert.strictEqual(yield* spentOf(journal, "shop.example"), 10n)
      assert.strictEqual(yield* spentOf(journal, "other.example"), 0n)
    })
  )

  it.effect("counts nothing that is declined", () =>
    Effect.gen(function* () {
      const journal = memory()
      const result = yield* Effect.result(journal.reserve(entryOf(), refused))
      assert.isTrue(Result.isFailure(result) && result.failure._tag === "PaymentDeclined")
      assert.strictEqual(yield* spentOf(journal), 0n)
    })
  )

  it.effect("gives the check what was reserved before it", () =>
    Effect.gen(function* () {
      const journal = memory()
      yield* journal.reserve(entryOf(), allowed)
      const seen: Array<bigint> = []
      yield* journal.reserve(entryOf({ id: "two" }), (spent) => {
        seen.push(spent("$").digits)
        return undefined
      })
      assert.deepStrictEqual(seen, [10n])
    })
  )
})

describe("write", () => {
  it.effect("counts an entry once however often it is written", () =>
    Effect.gen(function* () {
      const journal = memory()
      for (const state of ["reserved", "pending", "refused", "owed", "settled"] as const) {
        yield* journal.write(entryOf({ state }))
        assert.strictEqual(yield* spentOf(journal), 10n, state)
      }
    })
  )

  it.effect("gives back what is released, and nothing else", () =>
    Effect.gen(function* () {
      const journal = memory()
      yield* journal.write(entryOf())
      yield* journal.write(entryOf({ id: "two" }))
      yield* journal.write(entryOf({ state: "released" }))
      assert.strictEqual(yield* spentOf(journal), 10n)
    })
  )

  it.effect("forgets after 24 hours, and not before", () =>
    Effect.gen(function* () {
      const journal = memory()
      yield* journal.write(entryOf())
      yield* TestClock.setTime(day - 1)
      assert.strictEqual(yield* spentOf(journal), 10n)
      yield* TestClock.setTime(day)
      assert.strictEqual(yield* spentOf(journal), 0n)
      assert.isUndefined(yield* journal.find("pay_one"))
      assert.isUndefined(yield* journal.adopt("request"))
    })
  )
})

describe("the more certain of two ends", () => {
  it.effect("stays, and the writer is told", () =>
    Effect.gen(function* () {
      const journal = memory()
      yield* journal.write(entryOf({ state: "settled" }))
      assert.strictEqual((yield* journal.write(entryOf({ state: "refused" }))).state, "settled")
      assert.strictEqual((yield* journal.find("pay_one"))?.state, "settled")
    })
  )

  it.effect("and over is kept without the headers that nobody sends again", () =>
    Effect.gen(function* () {
      const journal = memory()
      const headers = { "X-Payment": "{}" }
      for (const state of ["pending", "refused", "owed", "settled"] as const) {
        assert.deepStrictEqual(
          (yield* journal.write(entryOf({ state, headers }))).headers,
          state === "settled" ? undefined : headers
        )
      }
    })
  )
})

describe("adopt", () => {
  it.effect("finds what is left of the same request only", () =>
    Effect.gen(function* () {
      const journal = memory()
      yield* journal.write(entryOf())
      assert.isUndefined(yield* journal.adopt("another request"))
      assert.strictEqual((yield* journal.adopt("request"))?.id, "one")
    })
  )

  it.effect("gives an entry to one call at a time", () =>
    Effect.gen(function* () {
      const journal = memory()
      yield* journal.reserve(entryOf(), allowed)
      assert.isUndefined(yield* journal.adopt("request"), "held by the call that reserved it")
      yield* journal.letGo("one")
      assert.strictEqual((yield* journal.adopt("request"))?.id, "one")
      assert.isUndefined(yield* journal.adopt("request"), "held by the call that adopted it")
      yield* journal.letGo("one")
      assert.strictEqual((yield* journal.adopt("request"))?.id, "one")
    })
  )

  it.effect("gives the oldest first, and each to another call", () =>
    Effect.gen(function* () {
      const journal = memory()
      yield* journal.write(entryOf({ id: "old" }))
      yield* journal.write(entryOf({ id: "new" }))
      assert.strictEqual((yield* journal.adopt("request"))?.id, "old")
      assert.strictEqual((yield* journal.adopt("request"))?.id, "new")
    })
  )
})

const at = (entry: Partial<JournalEntry>, now: number) => JournalLedger.isResumable(entryOf(entry), now)

describe("isResumable", () => {
  it("asks for an unknown outcome for as long as it is unknown", () => {
    assert.isTrue(at({ state: "pending" }, 0))
    assert.isTrue(at({ state: "pending" }, day))
  })

  it("sends a refused authorization again until it is dead", () => {
    assert.isTrue(at({ state: "refused" }, 60_000 + JournalLedger.deathMargin - 1))
    assert.isFalse(at({ state: "refused" }, 60_000 + JournalLedger.deathMargin))
  })

  it("asks for an owed answer while it is owed", () => {
    assert.isTrue(at({ state: "owed", owedUntil: 100 }, 99))
    assert.isFalse(at({ state: "owed", owedUntil: 100 }, 100))
  })

  it("sends nothing again that is over or was never sent", () => {
    for (const state of ["reserved", "settled", "released"] as const) assert.isFalse(at({ state }, 0), state)
  })
})

describe("totals", () => {
  it("equal the sum of the last lines that hold, for any order of writes", () => {
    const states = fc.constantFrom("reserved", "pending", "refused", "owed", "settled", "released")
    const write = fc.record({
      id: fc.constantFrom("a", "b", "c"),
      state: states,
      digits: fc.bigInt({ min: 0n, max: 10n ** 20n }),
      scale: fc.integer({ min: 0, max: 6 }),
      host: fc.constantFrom("x", "y")
    })
    fc.assert(
      fc.property(fc.array(write), (writes) => {
        const ledger = JournalLedger.make()
        const last = new Map<string, (typeof writes)[number]>()
        for (const line of writes) {
          const { digits, host, id, scale, state } = line
          const spendings = [{ unit: "$", digits: digits.toString(), scale }]
          ledger.put(entryOf({ id, host, state, spendings }))
          if (mayFollow(last.get(id)?.state ?? "reserved", state)) last.set(id, line)
        }
        for (const host of [undefined, "x", "y"]) {
          const { digits, scale } = ledger.spent("$", host)
          let expected = 0n
          for (const line of last.values()) {
            const counts = line.state !== "released" && (host === undefined || host === line.host)
            if (counts) expected += line.digits * 10n ** BigInt(6 - line.scale)
          }
          assert.strictEqual(digits * 10n ** BigInt(6 - scale), expected)
        }
      })
    )
  })
})

describe("a log that fails", () => {
  const failing = PaymentJournal.make({
    transact: () => Effect.fail(new PaymentJournal.JournalUnavailable({ message: "the disk is full" }))
  })

  it.effect("reserves nothing", () =>
    Effect.gen(function* () {
      const result = yield* Effect.result(failing.reserve(entryOf(), allowed))
      assert.isTrue(Result.isFailure(result) && result.failure._tag === "JournalUnavailable")
    })
  )

  it.effect("gives nothing to a call that it fails, so that the next one still finds it", () =>
    Effect.gen(function* () {
      const memory = PaymentJournal.memoryLog()
      let isBroken = false
      const journal = PaymentJournal.make({
        transact: (step) =>
          Effect.flatMap(memory.transact(step), (result) =>
            isBroken
              ? Effect.fail(new PaymentJournal.JournalUnavailable({ message: "aborted" }))
              : Effect.succeed(result)
          )
      })
      yield* journal.write(entryOf())
      isBroken = true
      assert.isTrue(Result.isFailure(yield* Effect.result(journal.adopt("request"))))
      isBroken = false
      assert.strictEqual((yield* journal.adopt("request"))?.id, "one")
    })
  )
})
