import { assert, describe, it } from "@effect/vitest"
import { type ChannelEntry, PaymentDeclined, type PaymentJournal } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

import { indexedDbJournal } from "../src/browser.ts"
import * as LeaseMarks from "../src/LeaseMarks.ts"
import * as WebLockMarks from "../src/WebLockMarks.ts"
import * as FakeIndexedDb from "./FakeIndexedDb.ts"
import * as FakeWebLocks from "./FakeWebLocks.ts"
import { allowed, channelOf, entryOf } from "./JournalEntries.ts"

/** A journal in a tab of a browser of its own, where it does not matter what other tabs are sending. */
const tabOf = (factory: IDBFactory) =>
  indexedDbJournal("test", factory, WebLockMarks.make("test", FakeWebLocks.make().open().locks))

const spentOf = (journal: PaymentJournal.PaymentJournal["Service"]) =>
  Effect.map(journal.spent, (spent) => spent("$").digits)

const over = new PaymentDeclined({ rule: "over_day_limit", message: "too much" })

describe("indexedDbJournal", () => {
  it.effect("remembers what another tab has written", () =>
    Effect.gen(function* () {
      const { factory } = FakeIndexedDb.make()
      const one = tabOf(factory)
      const two = tabOf(factory)
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
      const tabs = [tabOf(factory), tabOf(factory)]
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
      const journal = tabOf(factory)
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
      database.rows.set(1, { number: 1, entry: { id: 7 } })
      const failed = yield* Effect.result(tabOf(factory).adopt("request"))
      assert.isTrue(Result.isFailure(failed) && failed.failure._tag === "JournalUnavailable")
    })
  )

  it.effect("removes the lines that are older than a day, when it is opened", () =>
    Effect.gen(function* () {
      const { database, factory } = FakeIndexedDb.make()
      yield* tabOf(factory).write(entryOf())
      yield* TestClock.setTime(1000)
      yield* tabOf(factory).write(entryOf({ id: "young", at: 1000 }))
      assert.strictEqual(database.lines.length, 2, "a young first line keeps all")
      yield* TestClock.setTime(24 * 60 * 60 * 1000)
      assert.strictEqual(yield* spentOf(tabOf(factory)), 10n)
      assert.strictEqual(database.lines.length, 1)
    })
  )

  it.effect("never forgets a channel, and its highest voucher least of all", () =>
    Effect.gen(function* () {
      const { database, factory } = FakeIndexedDb.make()
      const write = (channel: ChannelEntry.ChannelEntry) =>
        tabOf(factory).draw("one", () => Result.succeed([undefined, [channel]]))
      yield* tabOf(factory).write(entryOf())
      yield* write(channelOf())
      yield* write(channelOf({ signed: "30" }))
      yield* TestClock.setTime(2 * 24 * 60 * 60 * 1000)
      const later = channelOf({ signed: "40", at: 2 * 24 * 60 * 60 * 1000 })
      assert.deepStrictEqual([...(yield* tabOf(factory).channels).values()], [channelOf({ signed: "30" })])
      assert.strictEqual(database.lines.length, 1)
      yield* write(later)
      assert.deepStrictEqual([...(yield* tabOf(factory).channels).values()], [later])
    })
  )
})

const budgetOf = (journal: PaymentJournal.PaymentJournal["Service"], id: string) =>
  Effect.map(
    Effect.result(
      journal.reserve(entryOf({ id, state: "reserved" }), (spent) => (spent("$").digits >= 50n ? over : undefined))
    ),
    Result.isSuccess
  )

describe("a database that is cleared under an open tab", () => {
  it.effect.each([
    ["and the tab is told", { isTold: true }],
    ["and the tab is not told", { isTold: false }]
  ] as const)("is read from its beginning, so that the budget holds: %s", ([, told]) =>
    Effect.gen(function* () {
      const { database, factory } = FakeIndexedDb.make()
      const tab = tabOf(factory)
      // The tab has read further than the cleared database will reach for a while.
      for (let id = 0; id < 20; id++) yield* tab.write(entryOf({ id: `${id}`, state: "released" }))
      yield* tab.spent
      yield* Effect.sync(() => database.clear(told))
      const bought: Array<boolean> = []
      for (let id = 100; id < 108; id++) bought.push(yield* budgetOf(tab, `${id}`))
      assert.deepStrictEqual(bought, [true, true, true, true, true, false, false, false])
      assert.strictEqual(yield* spentOf(tab), 50n)
      const other = tabOf(factory)
      assert.isFalse(yield* budgetOf(other, "other"), "another tab reads what was written since")
    })
  )

  it.effect("still sends what it had signed before", () =>
    Effect.gen(function* () {
      const { database, factory } = FakeIndexedDb.make()
      const tab = tabOf(factory)
      for (let id = 0; id < 20; id++) yield* tab.write(entryOf({ id: `${id}`, state: "settled", request: "other" }))
      yield* tab.write(entryOf())
      yield* tab.spent
      yield* Effect.sync(() => database.clear())
      assert.strictEqual((yield* tab.adopt("request"))?.id, "one")
      yield* tab.letGo("one")
      yield* tab.write(entryOf({ id: "two", request: "second" }))
      assert.strictEqual((yield* tab.adopt("second"))?.id, "two", "what was signed since is known too")
      assert.strictEqual(yield* spentOf(tab), 220n, "what was spent before counts in this tab")
    })
  )

  it.effect("lets a script delete it, and goes on in the new one", () =>
    Effect.gen(function* () {
      const { database, factory } = FakeIndexedDb.make()
      const tab = tabOf(factory)
      for (let id = 0; id < 20; id++) yield* tab.write(entryOf({ id: `${id}` }))
      yield* Effect.sync(() => database.delete())
      assert.strictEqual(database.connections.size, 0)
      yield* tab.write(entryOf({ id: "after", request: "after" }))
      assert.strictEqual((yield* tab.adopt("after"))?.id, "after")
    })
  )

  it.effect("is opened anew after any failure, since not every browser says that a connection is lost", () =>
    Effect.gen(function* () {
      const { database, factory } = FakeIndexedDb.make()
      const tab = tabOf(factory)
      yield* tab.write(entryOf())
      database.isFull = true
      assert.isTrue(Result.isFailure(yield* Effect.result(tab.write(entryOf({ id: "two" })))))
      database.isFull = false
      assert.strictEqual(yield* spentOf(tab), 10n)
      assert.strictEqual(database.opened, 2)
    })
  )
})

describe("a payment that another tab is sending", () => {
  it.effect("is not taken while its lock is held, and is free with the tab that held it", () =>
    Effect.gen(function* () {
      const { factory } = FakeIndexedDb.make()
      const browser = FakeWebLocks.make()
      const tabs = [browser.open(), browser.open()] as const
      const [one, two] = tabs.map(({ locks }) => indexedDbJournal("test", factory, WebLockMarks.make("test", locks)))
      yield* (one ?? assert.fail()).reserve(entryOf({ state: "reserved" }), allowed)
      yield* (one ?? assert.fail()).write(entryOf())
      assert.isUndefined(yield* (two ?? assert.fail()).adopt("request"))
      tabs[0].close()
      assert.strictEqual((yield* (two ?? assert.fail()).adopt("request"))?.id, "one")
    })
  )

  it.effect("is free for the next call of the same tab as soon as it is let go", () =>
    Effect.gen(function* () {
      const { factory } = FakeIndexedDb.make()
      const { locks } = FakeWebLocks.make().open()
      const journal = indexedDbJournal("test", factory, WebLockMarks.make("test", locks))
      yield* journal.write(entryOf())
      for (let call = 0; call < 3; call++) {
        assert.strictEqual((yield* journal.adopt("request"))?.id, "one", `call ${call}`)
        assert.isUndefined(yield* journal.adopt("request"))
        yield* journal.letGo("one")
      }
    })
  )

  it.effect("is not reserved, and nothing is signed, where locks are forbidden", () =>
    Effect.gen(function* () {
      const { factory } = FakeIndexedDb.make()
      const locks = { request: () => Promise.reject(new Error("SecurityError")) } as unknown as LockManager
      const journal = indexedDbJournal("test", factory, WebLockMarks.make("test", locks))
      const failed = yield* Effect.result(journal.reserve(entryOf({ state: "reserved" }), allowed))
      assert.isTrue(Result.isFailure(failed) && failed.failure._tag === "JournalUnavailable")
      assert.strictEqual(yield* spentOf(journal), 0n)
    })
  )

  it.effect("is waited for until its lease ends, where there are no locks", () =>
    Effect.gen(function* () {
      const { factory } = FakeIndexedDb.make()
      const [one, two] = [1, 2].map(() => indexedDbJournal("test", factory, LeaseMarks.make("test", factory)))
      yield* (one ?? assert.fail()).reserve(entryOf({ state: "reserved" }), allowed)
      yield* (one ?? assert.fail()).write(entryOf())
      const adopting = yield* Effect.forkChild((two ?? assert.fail()).adopt("request"))
      yield* settle
      yield* TestClock.adjust(LeaseMarks.leaseLength - 1)
      yield* settle
      assert.isUndefined(adopting.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* Fiber.join(adopting))?.id, "one")
    })
  )

  it.effect("is left alone where it is served within its lease", () =>
    Effect.gen(function* () {
      const { factory } = FakeIndexedDb.make()
      const [one, two] = [1, 2].map(() => indexedDbJournal("test", factory, LeaseMarks.make("test", factory)))
      yield* (one ?? assert.fail()).reserve(entryOf({ state: "reserved" }), allowed)
      yield* (one ?? assert.fail()).write(entryOf())
      const adopting = yield* Effect.forkChild((two ?? assert.fail()).adopt("request"))
      yield* settle
      yield* (one ?? assert.fail()).write(entryOf({ state: "settled" }))
      yield* (one ?? assert.fail()).letGo("one")
      yield* TestClock.adjust(LeaseMarks.leaseLength)
      assert.isUndefined(yield* Fiber.join(adopting))
    })
  )

  it.effect("is not waited for for ever where the other tab's clock was ahead", () =>
    Effect.gen(function* () {
      const { factory } = FakeIndexedDb.make()
      const [one, two] = [1, 2].map(() => indexedDbJournal("test", factory, LeaseMarks.make("test", factory)))
      yield* TestClock.setTime(1_000_000_000)
      yield* (one ?? assert.fail()).reserve(entryOf({ state: "reserved", at: 1_000_000_000 }), allowed)
      yield* (one ?? assert.fail()).write(entryOf({ at: 1_000_000_000 }))
      yield* TestClock.setTime(0)
      assert.strictEqual((yield* (two ?? assert.fail()).adopt("request"))?.id, "one")
    })
  )
})

const tick = Effect.promise(() => new Promise<void>((resolve) => void setImmediate(resolve)))

/** Lets what the fake database has queued come to pass; it takes no time of the test's clock. */
const settle = Effect.repeat(tick, { times: 100 })
