import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import * as MemoryPaymentStore from "../../../src/facilitator/store/MemoryPaymentStore.ts"
import { PaymentStore, type LaneWrite } from "../../../src/facilitator/store/PaymentStore.ts"
import * as PaymentStoreLaws from "../../../src/testing/store/PaymentStoreLaws.ts"
import * as Trial from "../../../src/testing/store/PaymentStoreTrial.ts"

type Store = PaymentStore["Service"]

const subject = (): PaymentStoreLaws.StoreSubject => {
  let epoch = 0
  return {
    elapse: (millis) => TestClock.adjust(millis),
    lease: (lane) => Effect.sync(() => ({ lane, epoch: ++epoch, isValid: () => true }))
  }
}

/** Runs laws one after another on one store. */
const tryOn = (store: Store, laws: ReadonlyArray<PaymentStoreLaws.StoreLaw>) =>
  Effect.provideContext(
    Effect.forEach(laws, ({ effect }) => effect, { discard: true }),
    Context.make(PaymentStore, store).pipe(Context.add(PaymentStoreLaws.Subject, subject()))
  )

describe("the laws of a payment store", () => {
  for (const law of PaymentStoreLaws.all) {
    it.effect(law.name, () => Effect.flatMap(MemoryPaymentStore.make, (store) => tryOn(store, [law])))
  }

  it.effect("hold one after another on one store", () =>
    Effect.flatMap(MemoryPaymentStore.make, (store) => tryOn(store, PaymentStoreLaws.all))
  )

  it.effect("hold for the store as a layer", () =>
    Effect.flatMap(PaymentStore, (store) => tryOn(store, PaymentStoreLaws.all.slice(0, 2))).pipe(
      Effect.provide(MemoryPaymentStore.layer)
    )
  )
})

const withoutTransaction = ({ changes }: LaneWrite): LaneWrite => ({ changes })

/** Stores with one fault each; at least one law must notice it. */
const broken: Readonly<Record<string, (store: Store) => Partial<Store>>> = {
  "creates for everybody": (store) => ({
    claim: (payment, claim, intake) =>
      Effect.map(store.claim(payment, claim, intake), (result) => ({ ...result, created: true }))
  }),
  "grants everybody": (store) => ({
    claim: (payment, claim, intake) =>
      Effect.map(store.claim(payment, claim, intake), (result) =>
        result._tag === "Claimed" && claim !== undefined ? { ...result, execution: "granted" as const } : result
      )
  }),
  "forgets the balance": (store) => ({
    claim: (payment, claim, intake) => store.claim(payment, claim, { available: 2n ** 255n, ...intake })
  }),
  "forgets the lane of a claim": (store) => ({
    claim: (payment, claim, intake) => store.claim(payment, claim, { available: intake?.available })
  }),
  "lets anybody finish": (store) => ({
    finish: (paymentId, claimId, outcome) =>
      Effect.flatMap(store.find(paymentId), (known) =>
        store.finish(paymentId, known?.execution.holder?.claimId ?? claimId, outcome)
      )
  }),
  "owes for ever": (store) => ({
    takeAnswer: (paymentId, call) => Effect.tap(store.takeAnswer(paymentId, call), store.returnAnswer(paymentId, call))
  }),
  "owes nothing at first": (store) => ({
    claim: (payment, claim, intake) =>
      Effect.tap(store.claim(payment, claim, intake), store.takeAnswer(payment.paymentId, "the claim itself"))
  }),
  "has anybody return an answer": (store) => ({
    returnAnswer: (paymentId) =>
      Effect.flatMap(store.find(paymentId), (known) =>
        store.returnAnswer(paymentId, known?.execution.holder?.claimId ?? "")
      )
  }),
  "looks first and writes later": (store) => ({
    record: (lease, entry) =>
      Effect.gen(function* () {
        const known = yield* Effect.forEach(entry.changes, ({ paymentId }) => store.find(paymentId))
        yield* Effect.yieldNow
        const changes = entry.changes.map((change, index) => {
          const status = known[index]?.status
          return status !== undefined && change.from.includes(status)
            ? { ...change, from: [status, change.to] }
            : change
        })
        return yield* store.record(lease, { ...entry, changes })
      })
  }),
  "takes what is true of the first plan for true of all": (store) => ({
    plan: (lease, [first, ...others]) =>
      first === undefined
        ? store.plan(lease, [])
        : Effect.andThen(store.plan(lease, [first]), others.length === 0 ? Effect.undefined : store.plan(lease, others))
  }),
  "does not look at the lease": (store) => ({
    record: (lease, entry) => store.record({ ...lease, epoch: Number.MAX_SAFE_INTEGER }, entry)
  }),
  "skips without a lease": (store) => ({
    skipTo: (lease, next) => store.skipTo({ ...lease, epoch: Number.MAX_SAFE_INTEGER }, next)
  }),
  "takes what waits newest first": (store) => ({
    queued: (lane, limit) => Effect.map(store.queued(lane, 1_000), (all) => all.toReversed().slice(0, limit))
  }),
  "counts what waits for one caller": (store) => ({
    waitingBy: (lane) =>
      Effect.map(store.waitingBy(lane), (shares) => [
        { caller: "", payer: "", waiting: shares.reduce((sum, { waiting }) => sum + waiting, 0) }
      ])
  }),
  "counts what travels among what waits": (store) => ({
    waitingBy: (lane) =>
      Effect.gen(function* () {
        const transactions = yield* store.openTransactions(lane)
        const travelling = transactions.flatMap(({ payments }) =>
          payments.map(({ authorization: { payer }, caller }) => ({ caller, payer, waiting: 1 }))
        )
        return [...(yield* store.waitingBy(lane)), ...travelling]
      })
  }),
  "keeps the last attempt alone": (store) => ({
    openTransactions: (lane) =>
      Effect.map(store.openTransactions(lane), (all) =>
        all.map((one) => ({ ...one, attempts: one.attempts.slice(-1) }))
      )
  }),
  "sorts the payments of a transaction": (store) => ({
    openTransactions: (lane) =>
      Effect.map(store.openTransactions(lane), (all) =>
        all.map((one) => ({ ...one, payments: one.payments.toSorted((a, b) => (a.serial < b.serial ? -1 : 1)) }))
      )
  }),
  "rounds what was signed": (store) => ({
    openTransactions: (lane) =>
      Effect.map(store.openTransactions(lane), (all) =>
        all.map((one) => ({
          ...one,
          attempts: one.attempts.map((attempt) => ({ ...attempt, cost: BigInt(Number(attempt.cost)) }))
        }))
      )
  }),
  "never closes a transaction": (store) => ({
    record: (lease, entry) =>
      store.record(lease, entry.transaction?.closed === true ? withoutTransaction(entry) : entry)
  }),
  "forgets which block includes a transaction": (store) => ({
    record: (lease, entry) =>
      store.record(lease, entry.transaction?.closed === true ? entry : withoutTransaction(entry))
  }),
  "books every landing": (store) => ({
    spent: (network, since, caller) => Effect.map(store.spent(network, since, caller), (spent) => spent * 2n)
  }),
  "writes what is not allowed": (store) => ({ plan: (lease, plans) => store.plan(lease, plans) }),
  "looks into the books first and writes later": (store) => ({
    plan: (lease, plans, allowance) =>
      Effect.gen(function* () {
        const books = yield* store.books(lease.lane.split(" ")[0] ?? "", allowance?.since ?? 0)
        yield* Effect.yieldNow
        return allowance?.allows(books) === false ? books : yield* store.plan(lease, plans)
      })
  }),
  "shows no transaction of another lane": (store) => ({
    books: (network, since) =>
      Effect.map(store.books(network, since), ({ open, spent }) => ({ open: open.slice(0, 1), spent }))
  }),
  "shows what was spent long ago": (store) => ({ books: (network) => store.books(network, 0) }),
  "books to no particular caller": (store) => ({ spent: (network, since) => store.spent(network, since) }),
  "lists from the beginning": (store) => ({ page: (_, limit, caller) => store.page(0n, limit, caller) }),
  "lists what is not the caller's": (store) => ({ page: (after, limit) => store.page(after, limit) }),
  "tells the same to two": (store) => ({ takeNotices: (room) => store.takeNotices(room, 0) }),
  "never tells again": (store) => ({ takeNotices: (room) => store.takeNotices(room, 10 ** 9) }),
  "tells more than there is room for": (store) => ({
    takeNotices: (room, lease) => store.takeNotices(new Map([...room].map(([caller]) => [caller, 1000])), lease)
  }),
  "forgets nothing": () => ({ forget: () => Effect.succeed({ count: 0, next: undefined }) }),
  "forgets too early": (store) => ({ forget: (age, after, limit) => store.forget(age / 2, after, limit) }),
  "forgets more than it was told": (store) => ({ forget: (age, after) => store.forget(age, after, 100) }),
  "never gives up": () => ({ giveUpNotices: () => Effect.succeed(new Map()) }),
  "gives everything up": (store) => ({ giveUpNotices: (_, limit) => store.giveUpNotices(0, limit) }),
  "gives up what has not been tried": (store) => ({ giveUpNotices: (age, limit) => store.giveUpNotices(age, limit) }),
  "counts no notices": () => ({ noticeBacklog: Effect.succeed({ count: 0, oldest: undefined }) }),
  "forgets to tell later": (store) => ({ closeNotice: (id) => store.closeNotice(id) }),
  "names what has not ended": (store) => ({
    endUnwanted: (unused) =>
      Effect.andThen(
        store.endUnwanted(unused),
        Effect.map(
          Effect.forEach(unused, ({ paymentId }) => store.find(paymentId)),
          (found) => found.filter((one) => one !== undefined)
        )
      )
  }),
  "drops the reason of an end": (store) => ({
    endUnwanted: (unused) => store.endUnwanted(unused.map(({ at, paymentId }) => ({ at, paymentId })))
  }),
  "ends nothing": (store) => ({
    endUnwanted: (unused) =>
      Effect.map(
        Effect.forEach(unused, ({ paymentId }) => store.find(paymentId)),
        (found) => found.filter((one) => one !== undefined)
      )
  }),
  "ends more than was proven": (store) => ({
    endUnwanted: (unused) =>
      Effect.gen(function* () {
        const all = yield* store.page(0n, 1_000)
        const ended = yield* store.endUnwanted(unused)
        yield* store.endUnwanted(all.map(({ paymentId }) => ({ paymentId, at: { number: 1n, hash: "0x" } })))
        return ended
      })
  }),
  "lists what is wanted on another network": (store) => ({
    unwanted: (_, validBefore, limit, after) =>
      Effect.map(store.page(0n, 1_000), (all) => {
        const networks = new Set(all.map(({ requirements: { network } }) => network))
        return [...networks].flatMap((one) => Effect.runSync(store.unwanted(one, validBefore, limit, after)))
      })
  }),
  "lists the first page alone": (store) => ({
    unwanted: (network, validBefore, limit, after) =>
      after === undefined ? store.unwanted(network, validBefore, limit) : Effect.succeed([])
  }),
  "lists what is not over": (store) => ({
    unwanted: (network, validBefore, limit, after) => store.unwanted(network, validBefore + 60, limit, after)
  })
}

describe("a store that breaks a law", () => {
  for (const [name, change] of Object.entries(broken)) {
    it.effect(`is found out when it ${name}`, () =>
      Effect.gen(function* () {
        const store = yield* MemoryPaymentStore.make
        const outcome = yield* Effect.exit(tryOn({ ...store, ...change(store) }, PaymentStoreLaws.all))
        assert.strictEqual(outcome._tag, "Failure")
      })
    )
  }
})

describe("forgetting", () => {
  const visit = Effect.fnUntraced(function* (store: Store, wish?: Trial.Wish) {
    return (yield* Trial.taken(store, wish)).paymentId
  })
  /** A payment that has ended: it was proven unused. */
  const over = Effect.fnUntraced(function* (store: Store) {
    const paymentId = yield* visit(store)
    yield* store.endUnwanted([Trial.provenUnused(paymentId)])
    return paymentId
  })
  const visits = (store: Store, count: number) => Effect.forEach(Array.from({ length: count }), () => visit(store))

  it.effect("drops a record a day after its authorization has expired, and not before", () =>
    Effect.gen(function* () {
      const store = yield* MemoryPaymentStore.make
      const old = yield* over(store)
      yield* TestClock.adjust("24 hours")
      yield* visit(store)
      assert.isDefined(yield* store.find(old))
      yield* TestClock.adjust("61 seconds")
      yield* visit(store)
      assert.isUndefined(yield* store.find(old))
    })
  )

  it.effect("drops others behind one that is valid for long", () =>
    Effect.gen(function* () {
      const store = yield* MemoryPaymentStore.make
      const long = yield* visit(store, { validFor: 10 * 86_400 })
      const old = yield* over(store)
      yield* TestClock.adjust("48 hours")
      yield* visits(store, 3)
      assert.isUndefined(yield* store.find(old))
      assert.isDefined(yield* store.find(long))
    })
  )

  it.effect(
    "keeps what has no end yet, what is on its way, what is in an open transaction and what is still to be told",
    () =>
      Effect.gen(function* () {
        const store = yield* MemoryPaymentStore.make
        const world = subject()
        const { name: lane } = yield* Trial.newLane
        const waits = yield* Trial.waiting(store, lane, 1)
        const travels = yield* Trial.flown(store, world, 2)
        const [included = ""] = travels.ids
        yield* store.record(travels.lease, { changes: [Trial.change(included, "planned", "included")] })
        const told = yield* Trial.flown(store, world, 1, { notify: true })
        const [untold = ""] = told.ids
        const closing = { number: Trial.firstNumber, closed: true as const }
        yield* store.record(told.lease, { changes: [Trial.change(untold, "planned", "final")], transaction: closing })
        const old = yield* over(store)
        const unproven = yield* visit(store)
        yield* TestClock.adjust("48 hours")
        yield* visits(store, 10)
        for (const id of [...waits, ...travels.ids, untold, unproven]) assert.isDefined(yield* store.find(id))
        assert.isUndefined(yield* store.find(old))

        for (const { id } of yield* store.takeNotices(new Map([["", 10]]), 1_000)) yield* store.closeNotice(id)
        yield* store.record(travels.lease, { changes: [], transaction: closing })
        yield* TestClock.adjust("48 hours")
        yield* visits(store, 20)
        for (const id of [untold, included]) assert.isUndefined(yield* store.find(id))
        for (const id of [...waits, ...travels.ids.slice(1)]) assert.isDefined(yield* store.find(id))
      })
  )

  it.effect("lets go of the payer's other payments with a record", () =>
    Effect.gen(function* () {
      const store = yield* MemoryPaymentStore.make
      const first = yield* Trial.taken(store)
      const { payer } = first.stored.authorization
      yield* TestClock.adjust("48 hours")
      yield* visits(store, 2)
      yield* Trial.claimed(store, yield* Trial.newPayment({ payer }), undefined)
      yield* Trial.claimed(store, first.payment, undefined)
    })
  )
})
