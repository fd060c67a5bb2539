import { assert, describe, it } from "@effect/vitest"
import { PaymentDeclined, type PaymentJournal } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

import { indexedDbJournal } from "../src/browser.ts"
import * as FakeIndexedDb from "./FakeIndexedDb.ts"
import { allowed, entryOf } from "./JournalEntries.ts"

const spentOf = (journal: PaymentJournal.PaymentJournal["Service"]) =>
  Effect.map(journal.spent, (spent) => spent("$").digits)

const over = new PaymentDeclined({ rule: "over_day_limit", message: "too much" })

describe("indexedDbJournal", () => {
  it.effect("remembers what another tab has written", () =>
    Effect.gen(function* () {
      const { factory } = FakeIndexedDb.make()
      const one = indexedDbJournal("test", factory)
      const two = indexedDbJournal("test", factory)
      yield* one.write(entryOf())
      assert.strictEqual(yield* spentOf(two), 10n)
      assert.strictEqual((yield* two.adopt("request"))?.id, "one")
      yield* one.write(entryOf({ state: "settled" }))
      assert.strictEqual((yield* two.find("pay_one"))?.state, "settled")
      assert.strictEqual(yield* spentOf(two), 10n, "counted once")
    })
  )

  it.effect("keeps a budget that two tabs spend at once", () =>
    Effect.gen(function* () {
      const { factory } = FakeIndexedDb.make()
      const tabs = [indexedDbJournal("test", factory), indexedDbJournal("test", factory)]
      const reservations = Array.from({ length: 100 }, (_, index) =>
        Effect.result(
          (tabs[index % 2] ?? assert.fail()).reserve(entryOf({ id: `${index}`, state: "reserved" }), (spent) =>
            spent("$").digits >= 100n ? over : undefined
          )
        )
      )
      const results = yield* Effect.all(reservations, { concurrency: "unbounded" })
      assert.strictEqual(results.filter(Result.isSuccess).length, 10)
    })
  )

  it.effect("has done nothing where the transaction was aborted", () =>
    Effect.gen(function* () {
      const { database, factory } = FakeIndexedDb.make()
      const journal = indexedDbJournal("test", factory)
      yield* journal.write(entryOf())
      database.isFull = true
      const failed = yield* Effect.result(journal.reserve(entryOf({ id: "two" }), allowed))
      assert.isTrue(Result.isFailure(failed) && failed.failure._tag === "JournalUnavailable")
      database.isFull = false
      assert.strictEqual(yield* spentOf(journal), 10n)
      yield* journal.reserve(entryOf({ id: "two" }), allowed)
      assert.strictEqual(yield* spentOf(journal), 20n)
    })
  )

  it.effect("is closed when its lines are not what it wrote", () =>
    Effect.gen(function* () {
      const { database, factory } = FakeIndexedDb.make()
      database.lines.push({ number: 1, entry: { id: 7 } } as never)
      const failed = yield* Effect.result(indexedDbJournal("test", factory).adopt("request"))
      assert.isTrue(Result.isFailure(failed) && failed.failure._tag === "JournalUnavailable")
    })
  )

  it.effect("removes the lines that are older than a day, when it is opened", () =>
    Effect.gen(function* () {
      const { database, factory } = FakeIndexedDb.make()
      yield* indexedDbJournal("test", factory).write(entryOf())
      yield* TestClock.setTime(1000)
      yield* indexedDbJournal("test", factory).write(entryOf({ id: "young", at: 1000 }))
      assert.strictEqual(database.lines.length, 2, "a young first line keeps all")
      yield* TestClock.setTime(24 * 60 * 60 * 1000)
      assert.strictEqual(yield* spentOf(indexedDbJournal("test", factory)), 10n)
      assert.strictEqual(database.lines.length, 1)
    })
  )
})
