import { assert, describe, it } from "@effect/vitest"
import {
  type FacilitatorUnavailable,
  type LaneLeases,
  type PaymentStore,
  refuse,
  type Settlement,
  Signals
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as SqlClient from "effect/sql/SqlClient"
import * as TestClock from "effect/testing/TestClock"
import * as fc from "fast-check"

import * as GroupCommit from "../../src/database/GroupCommit.ts"
import * as SqlDialect from "../../src/database/SqlDialect.ts"
import * as SchemaUpgrade from "../../src/schema/SchemaUpgrade.ts"
import * as RecordImage from "../../src/sqlite/RecordImage.ts"
import * as SqliteFile from "../../src/sqlite/SqliteFile.ts"
import * as SqlPaymentStore from "../../src/SqlPaymentStore.ts"
import * as DatabaseFile from "../DatabaseFile.ts"
import * as TrialPayments from "../TrialPayments.ts"
import * as FaultyFile from "./FaultyFile.ts"

type Store = PaymentStore.PaymentStore["Service"]

const { lane } = TrialPayments
const names = ["a", "b", "c", "d", "e"]
const ids = names.map((name) => `pay_${name}`)

/** Fewer than there are payments: some are always dropped from memory. */
const remembered = 3

const tables = ["payment", "contract", "event", "lane_transaction", "attempt", "lane", "spending", "notice"]

/** A store in its own file, with or without records in memory. */
const opened = Effect.fnUntraced(function* (remembers: boolean) {
  const filename = yield* DatabaseFile.filename
  const file = yield* SqliteFile.open({ filename })
  yield* Effect.provideServiceEffect(
    SchemaUpgrade.upgrade(SqlDialect.sqlite),
    SqlClient.SqlClient,
    SqliteFile.toClient(file)
  )
  const faulty = FaultyFile.make(file)
  const signals = Signals.make()
  const { query, batch, image, defer, now, recall, recallOpen, transact } = yield* GroupCommit.make(
    faulty.file,
    signals,
    RecordImage.make(remembered)
  )
  const plain = { dialect: SqlDialect.sqlite, now, query, batch, defer, transact }
  const store = SqlPaymentStore.make(remembers ? { ...plain, image, recall, recallOpen } : plain, signals)
  const rows = Effect.forEach(tables, (table) => file.connection.execute(`SELECT * FROM ${table}`, [], undefined))
  return { ...faulty, rows, store }
})

/** An operation on a store. */
type Deed = (store: Store) => Effect.Effect<unknown, { readonly _tag: string; readonly message: string }>

const name = fc.constantFrom(...names)
const id = name.map((one) => `pay_${one}`)
const claimId = fc.constantFrom("one", "two")
const number = fc.bigInt(0n, 2n)
const lease = fc.constantFrom(1, 1, 1, 2).map((epoch): LaneLeases.Lease => ({ lane, epoch, isValid: () => true }))

const payment = fc.tuple(name, fc.boolean()).map(([one, notify]) => wished(one, notify))

const wished = (one: string, notify: boolean): PaymentStore.NewPayment => ({
  ...TrialPayments.payment(one, { payer: one < "c" ? "one" : "other" }),
  notify
})

/** The open payments of both payers, as a store named them between two turns: a chain is queried after that. */
const namedBefore = new WeakMap<Store, ReadonlyMap<string, PaymentStore.OpenPayments>>()
const payments = [wished("a", false), wished("d", false)]

/** A file whose last transaction is not undone names none. */
const nameOpen = (store: Store) =>
  Effect.ignore(
    Effect.map(
      Effect.forEach(payments, (one) =>
        Effect.map(store.openPayments(one), (open) => [one.authorization.payer, open] as const)
      ),
      (open) => namedBefore.set(store, new Map(open))
    )
  )

const states = fc.constantFrom(...(["accepted", "planned", "sent", "included", "final", "failed", "expired"] as const))
const optional = <A>(value: fc.Arbitrary<A>) => fc.option(value, { nil: undefined })

const change: fc.Arbitrary<PaymentStore.StateChange> = fc.record(
  {
    paymentId: id,
    from: fc.constant<ReadonlyArray<Settlement.PaymentState>>(["accepted", "planned", "sent", "included"]),
    to: states,
    note: fc.constantFrom("a note", "half \ud800 and \0"),
    transaction: fc.constantFrom("tx", "t\0x"),
    block: fc.constant({ number: 7n, hash: "hash" }),
    refusal: fc.constant(refuse("EXPIRED_PAYMENT", "trial", "half \ud800 and \0")),
    leave: fc.constant<true>(true)
  },
  { requiredKeys: ["paymentId", "from", "to"] }
)

const inclusion = fc.constantFrom(null, { transaction: "tx", block: { number: 7n, hash: "hash" }, cost: 5n })

const entry = fc
  .record({ changes: fc.array(change, { maxLength: 4 }), number: optional(number), inclusion, closed: fc.boolean() })
  .map(({ changes, closed, inclusion, number }): PaymentStore.LaneWrite =>
    number === undefined
      ? { changes }
      : { changes, transaction: { number, inclusion, ...(closed && { closed: true as const }) } }
  )

/** Begins a lane transaction with the number that is next. */
const plan =
  (by: LaneLeases.Lease, size: number, others: ReadonlyArray<string>): Deed =>
  (store) =>
    Effect.gen(function* () {
      const next = yield* store.openLane(by, 0n)
      const paymentIds = (yield* store.queued(lane, size)).map(({ paymentId }) => paymentId)
      const prepared = TrialPayments.prepared(next)
      yield* store.plan(by, [{ number: next, prepared, paymentIds: [...paymentIds, ...others] }])
    })

const deed: fc.Arbitrary<Deed> = fc.oneof(
  fc
    .record({
      one: payment,
      claim: optional(claimId),
      wanted: optional(fc.constant(lane)),
      available: fc.constantFrom(undefined, 150n, 1000n, 1000n),
      isBeside: fc.boolean()
    })
    .map(({ available, claim, isBeside, one, wanted }): Deed => (store) => {
      const beside = isBeside ? namedBefore.get(store)?.get(one.authorization.payer) : undefined
      return store.claim(one, claim && { id: claim, resource: "r" }, { available, beside, lane: wanted })
    }),
  id.map(
    (one): Deed =>
      ({ queue }) =>
        queue(one, lane)
  ),
  fc.tuple(id, claimId, fc.constantFrom("served" as const, "failed" as const, "notRun" as const)).map(
    ([one, claim, outcome]): Deed =>
      ({ finish }) =>
        finish(one, claim, outcome)
  ),
  fc.tuple(id, claimId, fc.boolean()).map(
    ([one, call, takes]): Deed =>
      ({ returnAnswer, takeAnswer }) =>
        takes ? takeAnswer(one, call) : returnAnswer(one, call)
  ),
  fc.tuple(lease, fc.nat(3), fc.array(id, { maxLength: 1 })).map(([by, size, others]) => plan(by, size, others)),
  fc.tuple(lease, number).map(
    ([by, number]): Deed =>
      ({ replace }) =>
        replace(by, number, { ...TrialPayments.prepared(number), transaction: "another" })
  ),
  {
    weight: 3,
    arbitrary: fc.tuple(lease, entry).map(
      ([by, one]): Deed =>
        ({ record: enter }) =>
          enter(by, one)
    )
  },
  fc.array(id, { maxLength: 3 }).map(
    (ids): Deed =>
      ({ endUnwanted }) =>
        endUnwanted(ids.map((paymentId) => ({ paymentId, at: { number: 1n, hash: "0xfinal" } })))
  ),
  fc.nat(2).map(
    (limit): Deed =>
      ({ unwanted }) =>
        unwanted(TrialPayments.payment("any").requirements.network, 5_000_000_000, limit)
  ),
  fc.constantFrom(0, 30_000).map(
    (age): Deed =>
      ({ forget }) =>
        forget(age, -1n, 3)
  ),
  fc.constant<Deed>(({ takeNotices }) => takeNotices(new Map([["", 2]]), 1000))
)

const stumbles = fc.constantFrom(
  "",
  "BEGIN",
  "COMMIT",
  "ROLLBACK",
  "RELEASE",
  "INSERT INTO contract",
  "INSERT INTO event",
  "INSERT INTO spending",
  "UPDATE lane_transaction",
  "UPDATE payment"
)

/** Operations of one turn, which share a transaction, and the faults meanwhile. */
const turn = fc.record({
  deeds: fc.array(deed, { minLength: 1, maxLength: 4 }),
  fault: fc.option(fc.record({ text: stumbles, from: fc.nat(3), length: fc.nat(8), undoes: fc.boolean() }), {
    nil: FaultyFile.none
  }),
  millis: fc.constantFrom(0, 0, 61_000),
  names: fc.boolean()
})

const outcome = <A>(exit: Exit.Exit<A, { readonly _tag: string; readonly message: string }>) =>
  Exit.isSuccess(exit) ? exit.value : Exit.findErrorOption(exit)

/** All reads of a store. */
const seen = (store: Store) =>
  Effect.forEach(
    [
      ...ids.map((one) => store.find(one)),
      ...payments.map((one) => store.openPayments(one)),
      store.queued(lane, 2),
      store.queued(lane, 10),
      store.openTransactions(lane),
      store.page(0n, 10)
    ],
    (question: Effect.Effect<unknown, FacilitatorUnavailable>) => Effect.map(Effect.exit(question), outcome)
  )

/** Two stores that get the same operations at the same time return the same. */
const same = Effect.fnUntraced(function* (turns: ReadonlyArray<typeof turn extends fc.Arbitrary<infer A> ? A : never>) {
  const both = [yield* opened(true), yield* opened(false)] as const
  for (const { deeds, fault, millis, names } of turns) {
    yield* TestClock.adjust(millis)
    if (names) yield* Effect.forEach(both, ({ store }) => nameOpen(store))
    const [answers, expected] = yield* Effect.forEach(both, ({ arm, disarm, store }) => {
      arm(fault)
      const done = Effect.forEach(deeds, (one) => Effect.map(Effect.exit(one(store)), outcome), {
        concurrency: "unbounded"
      })
      return Effect.flatMap(done, (results) => {
        disarm()
        return Effect.map(seen(store), (after) => [results, after])
      })
    })
    assert.deepStrictEqual(answers, expected)
  }
  const [rows, expected] = yield* Effect.forEach(both, (one) => one.rows)
  assert.deepStrictEqual(rows, expected)
}, Effect.provide(TestClock.layer()))

describe("records that are remembered", () => {
  it.live("are what the file says, whatever is done and whatever fails", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(fc.array(turn, { maxLength: 12 }), (turns) => Effect.runPromise(Effect.scoped(same(turns)))),
        { numRuns: 100 }
      )
    )
  )

  it.effect("are not believed when what wrote them failed in the end, though others are committed beside it", () =>
    Effect.gen(function* () {
      const { arm, store } = yield* opened(true)
      const by = { lane, epoch: 1, isValid: () => true }
      yield* store.claim(wished("a", false), undefined, { lane })
      yield* plan(by, 1, [])(store)
      arm({ text: "UPDATE lane_transaction", from: 0, length: 2, undoes: false })
      const entry: PaymentStore.LaneWrite = {
        changes: [{ paymentId: "pay_a", from: ["planned"], to: "included" }],
        transaction: { number: 0n, closed: true }
      }
      const outcomes = yield* Effect.all(
        [Effect.exit(store.record(by, entry)), Effect.exit(store.claim(wished("d", false), undefined))],
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        outcomes.map(({ _tag }) => _tag),
        ["Failure", "Success"]
      )
      assert.strictEqual((yield* store.find("pay_a"))?.status, "planned")
      assert.strictEqual((yield* store.find("pay_d"))?.status, "accepted")
    })
  )
})
