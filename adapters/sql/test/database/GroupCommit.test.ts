import { assert, describe, it } from "@effect/vitest"
import { Signals } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"

import type { Transaction } from "../../src/database/Database.ts"
import * as GroupCommit from "../../src/database/GroupCommit.ts"
import { SqlitePaymentStore } from "../../src/sqlite.ts"
import * as RecordImage from "../../src/sqlite/RecordImage.ts"
import * as SqliteFile from "../../src/sqlite/SqliteFile.ts"
import * as DatabaseFile from "../DatabaseFile.ts"
import * as TrialPayments from "../TrialPayments.ts"

const insert =
  (text: string, filling = "") =>
  ({ run }: Transaction) =>
    run("INSERT INTO word (text, filling) VALUES (?, ?)", [text, filling])

/** A file with one table, and all statements run on it. */
const bare = Effect.gen(function* () {
  const said: Array<string> = []
  const file = yield* SqliteFile.open({
    filename: yield* DatabaseFile.filename,
    onStatement: (text) => said.push(text)
  })
  yield* file.connection.execute("CREATE TABLE word (text TEXT PRIMARY KEY, filling TEXT)", [], undefined)
  const {
    query: ask,
    batch,
    queryNow: glance,
    defer: linger,
    transact
  } = yield* GroupCommit.make(file, Signals.make(), RecordImage.make())
  const write = (text: string, filling?: string) => transact(insert(text, filling))
  const later = (text: string) => batch(insert(text))
  const whenever = (text: string) => linger(insert(text))
  const words = ask(({ run }) =>
    Effect.map(run("SELECT text FROM word ORDER BY text"), (rows) =>
      rows.map((row) => Object.values(row as Record<string, unknown>)[0])
    )
  )
  said.length = 0
  return { ask, file, glance, later, said, transact, whenever, write, words }
})

/** A store, and all statements run on its file. */
const openedStore = Effect.gen(function* () {
  const said: Array<string> = []
  const store = yield* SqlitePaymentStore.make({
    filename: yield* DatabaseFile.filename,
    onStatement: (text) => said.push(text)
  })
  return { said, store }
})

/** A clock that advances a millisecond between two readings. */
const slowClock = Effect.map(Clock.Clock, (clock): Clock.Clock => {
  let looks = 0n
  const look = () => ++looks * 1_000_000n
  return {
    currentTimeMillis: clock.currentTimeMillis,
    currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
    currentTimeNanos: clock.currentTimeNanos,
    currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
    monotonicTimeNanos: Effect.sync(look),
    monotonicTimeNanosUnsafe: look,
    sleep: (duration) => clock.sleep(duration)
  }
})

/** The same; each commit takes a millisecond. */
const slow = Effect.flatMap(slowClock, (clock) => Effect.provideService(bare, Clock.Clock, clock))

const begun = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkChild(effect, { startImmediately: true })
/** Runs everything that needs no time. */
const settled = TestClock.adjust(0)

/** A payment of 10 of the same payer. */
const ofOne = (name: string) => TrialPayments.payment(name, { amount: 10n, payer: "one" })

const commits = (said: ReadonlyArray<string>) => said.filter((text) => text === "COMMIT").length

describe("operations of one turn", () => {
  it.effect("share one commit, and need no savepoints where none of them fails", () =>
    Effect.gen(function* () {
      const { said, write } = yield* bare
      yield* Effect.forEach(Array.from({ length: 100 }), (_, index) => write(`word ${index}`), {
        concurrency: "unbounded"
      })
      assert.strictEqual(commits(said), 1)
      assert.strictEqual(said.filter((text) => text === "SAVEPOINT job").length, 0)
    })
  )

  it.effect("are answered after the commit, and not before", () =>
    Effect.gen(function* () {
      const { said, write } = yield* bare
      yield* Effect.forEach(["a", "b", "c"], (word) => Effect.map(write(word), () => said.push(`answered ${word}`)), {
        concurrency: "unbounded"
      })
      const order = said.filter((text) => text === "COMMIT" || text.startsWith("answered"))
      assert.deepStrictEqual(order, ["COMMIT", "answered a", "answered b", "answered c"])
    })
  )

  it.effect("that are more than a transaction takes are committed in several", () =>
    Effect.gen(function* () {
      const { said, words, write } = yield* bare
      yield* Effect.forEach(Array.from({ length: 300 }), (_, index) => write(`word ${index}`), {
        concurrency: "unbounded"
      })
      assert.strictEqual(commits(said), 2)
      assert.lengthOf(yield* words, 300)
    })
  )

  it.effect("are undone alone when they fail", () =>
    Effect.gen(function* () {
      const { said, transact, words, write } = yield* bare
      const failing = transact(({ run }) =>
        Effect.andThen(run("INSERT INTO word (text) VALUES ('undone')"), Effect.fail("changed my mind" as const))
      )
      const outcomes = yield* Effect.all(
        [Effect.exit(write("a")), Effect.exit(failing), Effect.exit(write("a")), Effect.exit(write("b"))],
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        outcomes.map(({ _tag }) => _tag),
        ["Success", "Failure", "Failure", "Success"]
      )
      assert.strictEqual(commits(said), 1)
      assert.strictEqual(said.filter((text) => text === "SAVEPOINT job").length, 4)
      assert.deepStrictEqual(yield* words, ["a", "b"])
    })
  )

  it.effect("die alone when they are broken", () =>
    Effect.gen(function* () {
      const { transact, words, write } = yield* bare
      const broken = transact(() => Effect.die("a mistake"))
      const [, outcome] = yield* Effect.all([write("a"), Effect.exit(broken), write("b")], { concurrency: "unbounded" })
      assert.strictEqual(outcome._tag, "Failure")
      assert.lengthOf(yield* words, 2)
    })
  )

  it.effect("without a waiting caller any more are not begun", () =>
    Effect.gen(function* () {
      const { words, write } = yield* bare
      const fiber = yield* Effect.forkChild(write("unwanted"), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      assert.lengthOf(yield* words, 0)
    })
  )
})

describe("after a commit", () => {
  it.effect("that took long, what may wait gathers for four times as long and shares the next one", () =>
    Effect.gen(function* () {
      const { later, said } = yield* slow
      yield* later("a")
      const others = [yield* begun(later("b")), yield* begun(later("c"))]
      yield* TestClock.adjust(3)
      assert.strictEqual(commits(said), 1)
      yield* TestClock.adjust(1)
      yield* Effect.forEach(others, Fiber.join)
      assert.strictEqual(commits(said), 2)
    })
  )

  it.effect("a write that may not wait is committed with the gathered writes", () =>
    Effect.gen(function* () {
      const { later, said, words, write } = yield* slow
      yield* later("a")
      const waiting = yield* begun(later("b"))
      yield* settled
      assert.strictEqual(commits(said), 1)
      yield* write("c")
      yield* Fiber.join(waiting)
      assert.strictEqual(commits(said), 2)
      assert.deepStrictEqual(yield* words, ["a", "b", "c"])
    })
  )

  it.effect("questions are answered at once, from what is committed", () =>
    Effect.gen(function* () {
      const { later, words } = yield* slow
      yield* later("a")
      yield* begun(later("b"))
      yield* settled
      assert.deepStrictEqual(yield* words, ["a"])
    })
  )

  it.effect("nothing waits once the pause is over", () =>
    Effect.gen(function* () {
      const { later, said } = yield* slow
      yield* later("a")
      yield* TestClock.adjust(4)
      yield* later("b")
      assert.strictEqual(commits(said), 2)
    })
  )

  it.effect("deferred writes wait for ten milliseconds more, and join a commit that does not wait", () =>
    Effect.gen(function* () {
      const { later, said, whenever } = yield* slow
      yield* later("a")
      const alone = yield* begun(whenever("b"))
      yield* TestClock.adjust(13)
      assert.strictEqual(commits(said), 1)
      yield* TestClock.adjust(1)
      yield* Fiber.join(alone)
      assert.strictEqual(commits(said), 2)
      const accompanied = yield* begun(whenever("c"))
      yield* TestClock.adjust(4)
      assert.strictEqual(commits(said), 2)
      yield* later("d")
      yield* Fiber.join(accompanied)
      assert.strictEqual(commits(said), 3)
    })
  )

  it.effect("a lingering write waits for the end of the last pause alone, and on a file at rest for none", () =>
    Effect.gen(function* () {
      const { later, said, whenever } = yield* slow
      yield* whenever("a")
      yield* TestClock.adjust(10)
      yield* later("b")
      const lingering = yield* begun(whenever("c"))
      yield* TestClock.adjust(13)
      assert.strictEqual(commits(said), 2)
      yield* TestClock.adjust(1)
      yield* Fiber.join(lingering)
      assert.strictEqual(commits(said), 3)
    })
  )

  it.effect("a write that is still gathered when the file is closed is refused", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { later } = yield* Scope.provide(slow, scope)
      yield* later("a")
      const waiting = yield* begun(Effect.flip(later("b")))
      yield* Scope.close(scope, Exit.void)
      assert.include((yield* Fiber.join(waiting)).message, "this process is stopping")
    })
  )
})

describe("questions", () => {
  it.effect("need no transaction where nothing is written", () =>
    Effect.gen(function* () {
      const { said, words } = yield* bare
      yield* Effect.all([words, words], { concurrency: "unbounded" })
      assert.deepStrictEqual(said, ["SELECT text FROM word ORDER BY text", "SELECT text FROM word ORDER BY text"])
    })
  )

  it.effect("see what the same turn has committed, and are asked after it", () =>
    Effect.gen(function* () {
      const { said, words, write } = yield* bare
      const [found] = yield* Effect.all([words, write("a"), write("b")], { concurrency: "unbounded" })
      assert.deepStrictEqual(found, ["a", "b"])
      assert.isAbove(said.indexOf("SELECT text FROM word ORDER BY text"), said.indexOf("COMMIT"))
    })
  )

  it.effect("fail alone", () =>
    Effect.gen(function* () {
      const { ask, words, write } = yield* bare
      const [outcome, found] = yield* Effect.all(
        [Effect.flip(ask(({ run }) => run("SELECT nothing FROM nowhere"))), words, write("a")],
        { concurrency: "unbounded" }
      )
      assert.strictEqual(outcome._tag, "FacilitatorUnavailable")
      assert.deepStrictEqual(found, ["a"])
    })
  )

  it.effect("are not answered from a transaction that could not be undone", () =>
    Effect.gen(function* () {
      const { file, words } = yield* bare
      yield* file.connection.execute("BEGIN", [], undefined)
      yield* file.connection.execute("INSERT INTO word (text) VALUES ('doubtful')", [], undefined)
      assert.strictEqual((yield* Effect.flip(words))._tag, "FacilitatorUnavailable")
      yield* file.connection.execute("ROLLBACK", [], undefined)
      assert.deepStrictEqual(yield* words, [])
    })
  )
})

describe("a glance", () => {
  const word = "SELECT text FROM word WHERE text = ?"

  it.effect("sees at this moment what is durable, and nothing that only waits", () =>
    Effect.gen(function* () {
      const { glance, said, write } = yield* bare
      yield* write("a")
      const writing = yield* begun(write("b"))
      assert.deepStrictEqual(glance(word, ["a"])?.length, 1)
      assert.deepStrictEqual(glance(word, ["b"]), [])
      yield* Fiber.join(writing)
      assert.deepStrictEqual(glance(word, ["b"])?.length, 1)
      assert.strictEqual(commits(said), 2)
    })
  )

  it.effect("tells nothing from within a transaction, of a fault, or when the file is closed", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { file, glance, transact } = yield* Scope.provide(bare, scope)
      yield* transact(() => Effect.sync(() => assert.isUndefined(glance(word, ["a"]))))
      yield* file.connection.execute("BEGIN", [], undefined)
      assert.isUndefined(glance(word, ["a"]))
      yield* file.connection.execute("ROLLBACK", [], undefined)
      assert.isUndefined(glance("SELECT nothing FROM nowhere", []))
      assert.deepStrictEqual(glance(word, ["a"]), [])
      yield* Scope.close(scope, Exit.void)
      assert.isUndefined(glance(word, ["a"]))
    })
  )
})

describe("a disk that is full", () => {
  it.effect("fails all operations of the commit, and no later one", () =>
    Effect.gen(function* () {
      const { file, words, write } = yield* bare
      const limit = (pages: number) => file.connection.execute(`PRAGMA max_page_count = ${pages}`, [], undefined)
      yield* write("before")
      yield* limit(4)
      const outcomes = yield* Effect.forEach(["x", "y"], (word) => Effect.flip(write(word, word.repeat(100_000))), {
        concurrency: "unbounded"
      })
      for (const error of outcomes) assert.strictEqual(error._tag, "FacilitatorUnavailable")
      assert.isFalse(file.isTransaction())
      yield* limit(10_000)
      yield* write("after")
      assert.lengthOf(yield* words, 2)
    })
  )
})

describe("the store", () => {
  it.effect("claims many payments with one commit, and hints at them after it", () =>
    Effect.gen(function* () {
      const { said, store } = yield* openedStore
      const ear = yield* store.signals.listen(TrialPayments.lane)
      yield* Effect.forkChild(
        Effect.map(ear.next, () => said.push("heard")),
        { startImmediately: true }
      )
      said.length = 0
      const names = Array.from({ length: 50 }, (_, index) => `p${index}`)
      const results = yield* Effect.forEach(
        names,
        (name) => store.claim(TrialPayments.payment(name), undefined, { lane: TrialPayments.lane }),
        { concurrency: "unbounded" }
      )
      assert.isTrue(results.every(({ _tag }) => _tag === "Claimed"))
      assert.strictEqual(commits(said), 1)
      assert.isAbove(said.indexOf("heard"), said.indexOf("COMMIT"))
    })
  )

  it.effect("defers writes without a waiting caller and that bytes were sent, but not the end of a payment", () =>
    Effect.gen(function* () {
      const { said, store } = yield* Effect.provideService(openedStore, Clock.Clock, yield* slowClock)
      const { lane, payment, prepared } = TrialPayments
      const lease = { lane, epoch: 1, isValid: () => true }
      yield* store.openLane(lease, 0n)
      yield* begun(store.claim(payment("one"), undefined, { lane }))
      yield* TestClock.adjust(10)
      yield* store.plan(lease, [{ number: 0n, prepared: prepared(0n), paymentIds: ["pay_one"] }])
      said.length = 0
      const change = { paymentId: "pay_one", transaction: prepared(0n).transaction }
      const marked = yield* begun(store.record(lease, { changes: [{ ...change, from: ["planned"], to: "sent" }] }))
      yield* settled
      assert.strictEqual(commits(said), 0)
      yield* store.record(lease, { changes: [{ ...change, from: ["sent"], to: "failed" }] })
      yield* Fiber.join(marked)
      assert.strictEqual(commits(said), 1)
      assert.strictEqual((yield* store.find("pay_one"))?.status, "failed")
    })
  )

  it.effect("looks once for a payment that is new, and again once it may be there", () =>
    Effect.gen(function* () {
      const { said, store } = yield* openedStore
      const one = TrialPayments.payment("one")
      const looks = () => said.splice(0).filter((text) => text.includes("WHERE p.payment_id = ?")).length
      looks()
      assert.isUndefined(yield* store.find(one.paymentId))
      const claimed = yield* store.claim(one, undefined)
      assert.deepInclude(claimed, { _tag: "Claimed", created: true })
      assert.strictEqual(looks(), 1)
      assert.deepInclude(yield* store.claim(one, undefined), { _tag: "Claimed", created: false })
      assert.strictEqual((yield* store.find(one.paymentId))?.paymentId, one.paymentId)
      const failing = yield* Effect.flip(
        store.plan({ lane: TrialPayments.lane, epoch: 1, isValid: () => true }, [
          { number: 7n, prepared: TrialPayments.prepared(7n), paymentIds: [] }
        ])
      )
      assert.strictEqual(failing._tag, "LeaseLost")
      assert.deepInclude(yield* store.claim(one, undefined), { _tag: "Claimed", created: false })
    })
  )

  it.effect("asks for a payer's open payments once, and takes them from memory when the payer comes again", () =>
    Effect.gen(function* () {
      const { said, store } = yield* openedStore
      const { lane, prepared } = TrialPayments
      const lease = { lane, epoch: 1, isValid: () => true }
      const looks = () => said.splice(0).filter((text) => /SELECT.*payer = \?/s.test(text)).length
      const buy = Effect.fnUntraced(function* (name: string, available?: bigint) {
        const beside = yield* store.openPayments(ofOne(name))
        const claimed = yield* store.claim(ofOne(name), undefined, { available, beside, lane })
        return { beside, result: claimed._tag }
      })
      looks()
      assert.deepStrictEqual(yield* buy("one"), { beside: { amounts: new Map(), newest: 0n }, result: "Claimed" })
      assert.strictEqual(looks(), 3)
      const amounts = new Map([["pay_one", 10n]])
      assert.deepStrictEqual(yield* buy("two", 20n), { beside: { amounts, newest: 1n }, result: "Claimed" })
      assert.deepStrictEqual((yield* buy("three", 29n)).result, "Overdrawn")
      assert.strictEqual(looks(), 0)
      const before = yield* store.openPayments(ofOne("three"))
      yield* store.openLane(lease, 0n)
      yield* store.plan(lease, [{ number: 0n, prepared: prepared(0n), paymentIds: ["pay_one"] }])
      yield* store.record(lease, { changes: [{ paymentId: "pay_one", from: ["planned"], to: "included" }] })
      assert.deepStrictEqual([...(yield* store.openPayments(ofOne("three"))).amounts.keys()], ["pay_two"])
      const late = (available: bigint) =>
        Effect.map(store.claim(ofOne("three"), undefined, { available, beside: before, lane }), ({ _tag }) => _tag)
      assert.strictEqual(yield* late(29n), "Overdrawn", "the ended one counts too")
      assert.strictEqual(yield* late(30n), "Claimed")
      assert.strictEqual(looks(), 0)
      yield* store.claim(TrialPayments.payment("other"), undefined)
      looks()
      const { newest } = yield* store.openPayments(ofOne("four"))
      assert.deepStrictEqual([newest, looks()], [4n, 0])
    })
  )

  it.effect("takes payments whose turn it is from memory", () =>
    Effect.gen(function* () {
      const { said, store } = yield* openedStore
      const { lane, payment } = TrialPayments
      for (const name of ["one", "two", "three"]) yield* store.claim(payment(name), undefined, { lane })
      said.length = 0
      const turn = yield* store.queuedInTurn(lane, 2, 2)
      assert.deepStrictEqual(
        turn.map(({ paymentId }) => paymentId),
        ["pay_one", "pay_two"]
      )
      assert.isFalse(said.some((text) => text.includes("JOIN contract")))
    })
  )

  it.effect("lets the end of an execution wait for other writes", () =>
    Effect.gen(function* () {
      const { said, store } = yield* Effect.provideService(openedStore, Clock.Clock, yield* slowClock)
      const { payment } = TrialPayments
      yield* store.claim(payment("one"), { id: "a run", resource: "a report" })
      yield* TestClock.adjust(4)
      said.length = 0
      const finished = yield* begun(store.finish("pay_one", "a run", "served"))
      yield* settled
      assert.strictEqual(commits(said), 0)
      yield* store.claim(payment("two"), undefined)
      assert.isTrue((yield* Fiber.join(finished))?.execution.served)
      assert.strictEqual(commits(said), 1)
    })
  )

  it.effect("writes nothing for a lease that has passed on, though others are committed beside it", () =>
    Effect.gen(function* () {
      const store = yield* SqlitePaymentStore.make({ filename: yield* DatabaseFile.filename })
      const { lane, payment, prepared } = TrialPayments
      const lease = (epoch: number) => ({ lane, epoch, isValid: () => true })
      yield* store.openLane(lease(2), 0n)
      yield* store.claim(payment("one"), undefined, { lane })
      const plan = [{ number: 0n, prepared: prepared(0n), paymentIds: ["pay_one"] }]
      const [stale, fresh] = yield* Effect.all(
        [Effect.exit(store.plan(lease(1), plan)), Effect.exit(store.claim(payment("two"), undefined))],
        { concurrency: "unbounded" }
      )
      assert.strictEqual(stale._tag, "Failure")
      assert.strictEqual(fresh._tag, "Success")
      assert.deepStrictEqual(yield* store.openTransactions(lane), [])
      assert.strictEqual((yield* store.find("pay_one"))?.status, "accepted")
    })
  )
})
