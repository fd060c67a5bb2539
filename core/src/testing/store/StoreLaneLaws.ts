/**
 * The laws about lanes: their queues, the beginning of lane transactions, and that everything signed for them is still
 * there after a restart.
 */
import * as Effect from "effect/Effect"

import { holds, same } from "../Law.ts"
import {
  change,
  claimed,
  firstNumber,
  flown,
  inclusionOf,
  law,
  loses,
  newLane,
  newName,
  newPayment,
  opened,
  planOf,
  signed,
  staffed,
  statusIs,
  type Store,
  type StoreLaw,
  taken,
  waiting,
  queuedIn
} from "./PaymentStoreTrial.ts"

const idsOf = (payments: ReadonlyArray<{ readonly paymentId: string }>) => payments.map(({ paymentId }) => paymentId)

const queueIs = Effect.fnUntraced(function* (store: Store, lane: string, ids: ReadonlyArray<string>) {
  yield* same(`what waits in ${lane}`, idsOf(yield* store.queued(lane, 1_000)), ids)
})

const loadIs = Effect.fnUntraced(function* (store: Store, lane: string, load: number) {
  yield* same(`the load of ${lane}`, (yield* store.loads([lane])).get(lane), load)
})

const claimsQueue = law(
  "a new payment can wait in a lane from its claim on, and lanes show what waits in them, oldest first",
  Effect.fnUntraced(function* (store) {
    const { name: lane } = yield* newLane
    const { name: other } = yield* newLane
    yield* queueIs(store, lane, [])
    const ids = yield* waiting(store, lane, 5)
    const [elsewhere] = yield* waiting(store, other, 1)
    yield* queueIs(store, lane, ids)
    yield* same("the first three", idsOf(yield* store.queued(lane, 3)), ids.slice(0, 3))
    yield* queueIs(store, other, [elsewhere ?? ""])
    const loads = yield* store.loads([lane, other, "ledger:nobody signer-1"])
    yield* same("the loads", [...loads.values()], [5, 1, 0])
    yield* same("a waiting payment's lane", (yield* store.find(ids[0] ?? ""))?.lane, lane)
  })
)

const queuedInTurn = law(
  "of a long queue callers take turns, and so do their payers, each with no more than it may",
  Effect.fnUntraced(function* (store) {
    const { name: lane } = yield* newLane
    const of = Effect.fnUntraced(function* (caller: string, payer: string, count: number) {
      const ids: Array<string> = []
      for (let index = 0; index < count; index++) {
        const payment = yield* newPayment({ caller, payer })
        yield* store.claim(payment, undefined, { lane, available: 1_000_000n })
        ids.push(payment.paymentId)
      }
      return ids
    })
    const [loud, many] = [`acct-${yield* newName}`, `acct-${yield* newName}`]
    const first = yield* of("loud", loud, 6)
    const second = yield* of("loud", many, 6)
    const quiet = yield* of("quiet", loud, 2)
    const late = yield* of("late", many, 1)
    const turn = (limit: number, ofPayer: number) => Effect.map(store.queuedInTurn(lane, limit, ofPayer), idsOf)
    const a = first.slice(0, 2)
    const b = second.slice(0, 2)
    yield* same("two of each payer, in their order", yield* turn(100, 2), [...a, ...b, ...quiet, ...late])
    yield* same("one of each caller", yield* turn(3, 2), [...a.slice(0, 1), ...quiet.slice(0, 1), ...late])
    yield* same("a payer's second after the other's first", yield* turn(4, 6), [
      ...a.slice(0, 1),
      ...b.slice(0, 1),
      ...quiet.slice(0, 1),
      ...late
    ])
    yield* same("all", yield* turn(100, 100), [...first, ...second, ...quiet, ...late])
    yield* same("what waits elsewhere", yield* store.queuedInTurn("ledger:nobody signer-1", 10, 10), [])
  })
)

const waitingIsCounted = law(
  "the waiting payments of a lane are counted by caller and payer, without pending ones and those of other lanes",
  Effect.fnUntraced(function* (store, subject) {
    const { name: lane } = yield* newLane
    const [caller, other, payer] = [yield* newName, yield* newName, `acct-${yield* newName}`]
    const counts = Effect.map(store.waitingBy(lane), (shares) => {
      const sums: Record<string, number> = {}
      for (const share of shares) {
        const name = `${share.caller} ${share.payer}`
        sums[name] = (sums[name] ?? 0) + share.waiting
      }
      return sums
    })
    yield* same("at first", yield* counts, {})
    const claimedBy = Effect.fnUntraced(function* (name: string, where: string) {
      const payment = yield* newPayment({ caller: name, payer })
      yield* store.claim(payment, undefined, { lane: where, available: 1_000_000n })
      return payment.paymentId
    })
    const first = yield* claimedBy(caller, lane)
    yield* claimedBy(caller, lane)
    yield* claimedBy(other, lane)
    yield* claimedBy(other, (yield* newLane).name)
    yield* same("of two callers", yield* counts, { [`${caller} ${payer}`]: 2, [`${other} ${payer}`]: 1 })
    const lease = yield* opened(store, subject, lane)
    yield* store.plan(lease, [yield* planOf(firstNumber, [first])])
    yield* same("once one travels", yield* counts, { [`${caller} ${payer}`]: 1, [`${other} ${payer}`]: 1 })
    yield* store.record(lease, { changes: [change(first, "planned", "accepted")] })
    yield* same("once it is back", yield* counts, { [`${caller} ${payer}`]: 2, [`${other} ${payer}`]: 1 })
  })
)

const queuedOnce = law(
  "an accepted payment is put into one lane once; a payment in another state into none",
  Effect.fnUntraced(function* (store, subject) {
    const { name: lane } = yield* newLane
    const { name: other } = yield* newLane
    const { paymentId } = yield* taken(store)
    yield* same("its lane", (yield* queuedIn(store, paymentId, lane))?.lane, lane)
    yield* same("its lane, asked for another", (yield* queuedIn(store, paymentId, other))?.lane, lane)
    yield* queueIs(store, lane, [paymentId])
    yield* queueIs(store, other, [])
    const { ids } = yield* flown(store, subject, 1)
    const before = yield* store.find(ids[0] ?? "")
    yield* same("a planned payment", yield* queuedIn(store, ids[0] ?? "", other), before)
    yield* same("an unknown payment", yield* queuedIn(store, "pay_0000000000000000000000", lane), undefined)
    yield* queueIs(store, other, [])
  })
)

const knownIsNotQueued = law(
  "a known payment's claim puts it into no lane",
  Effect.fnUntraced(function* (store) {
    const { name: lane } = yield* newLane
    const { claim, payment, paymentId } = yield* taken(store)
    yield* claimed(store, payment, claim, { lane })
    yield* same("its lane", (yield* store.find(paymentId))?.lane, undefined)
    yield* queueIs(store, lane, [])
  })
)

const queueIsByAge = law(
  "a payment that enters a lane late is queued by its age",
  Effect.fnUntraced(function* (store) {
    const { name: lane } = yield* newLane
    const old = yield* taken(store)
    const [young] = yield* waiting(store, lane, 1)
    yield* store.queue(old.paymentId, lane)
    yield* queueIs(store, lane, [old.paymentId, young ?? ""])
  })
)

const plansMove = law(
  "a plan takes its payments out of the queue, and keeps their transaction, lane number and first head",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, lane, lease } = yield* staffed(store, subject, 4)
    const plan = yield* planOf(firstNumber, ids.slice(0, 2).toReversed())
    yield* store.plan(lease, [plan])
    yield* queueIs(store, lane, ids.slice(2))
    yield* loadIs(store, lane, 4)
    const found = yield* store.find(ids[0] ?? "")
    yield* same("the state", found?.status, "planned")
    yield* same("the transaction", found?.transaction, plan.prepared.transaction)
    yield* same("the transaction", found?.laneNumber, firstNumber)
    yield* same("the head", found?.since, plan.prepared.head)
    const [transaction, ...others] = yield* store.openTransactions(lane)
    yield* same("how many transactions", others.length, 0)
    yield* same("its number", transaction?.number, firstNumber)
    yield* same("its lane", transaction?.lane, lane)
    yield* same("its attempts", transaction?.attempts, [plan.prepared])
    yield* same("its payments", idsOf(transaction?.payments ?? []), plan.paymentIds)
    yield* same("its inclusion", transaction?.inclusion, undefined)
  })
)

const plansInARow = law(
  "several plans at once take numbers in a row, and a lane that opens again goes on behind them",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, lane, lease } = yield* staffed(store, subject, 3)
    const plans = [
      yield* planOf(firstNumber, ids.slice(0, 1)),
      yield* planOf(firstNumber + 1n, []),
      yield* planOf(firstNumber + 2n, ids.slice(1))
    ]
    yield* store.plan(lease, plans)
    const transactions = yield* store.openTransactions(lane)
    yield* same(
      "the transactions",
      transactions.map(({ number }) => number),
      plans.map(({ number }) => number)
    )
    yield* same(
      "their payments",
      transactions.map(({ payments }) => idsOf(payments)),
      plans.map(({ paymentIds }) => paymentIds)
    )
    yield* same("the next number", yield* store.openLane(yield* subject.lease(lane), 0n), firstNumber + 3n)
  })
)

const plansAreWhole = law(
  "plans that do not fit are refused whole: a wrong number, a payment that does not wait here, one that is named twice",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, lane, lease } = yield* staffed(store, subject, 2)
    const [first = "", second = ""] = ids
    const elsewhere = yield* staffed(store, subject, 1)
    const { paymentId: idle } = yield* taken(store)
    const good = yield* planOf(firstNumber, [first])
    const wrong = {
      "a number that is taken": [yield* planOf(firstNumber - 1n, [first])],
      "a number too far": [yield* planOf(firstNumber + 1n, [first])],
      "a hole between numbers": [good, yield* planOf(firstNumber + 2n, [second])],
      "a number twice": [good, yield* planOf(firstNumber, [second])],
      "a payment of another lane": [good, yield* planOf(firstNumber + 1n, elsewhere.ids)],
      "a payment that waits nowhere": [good, yield* planOf(firstNumber + 1n, [idle])],
      "an unknown payment": [good, yield* planOf(firstNumber + 1n, ["pay_0000000000000000000000"])],
      "a payment in two transactions": [good, yield* planOf(firstNumber + 1n, [first])],
      "a payment twice in one": [yield* planOf(firstNumber, [first, first])]
    }
    for (const [what, plans] of Object.entries(wrong)) yield* loses(what, store.plan(lease, plans))
    yield* queueIs(store, lane, ids)
    yield* same("the transactions", yield* store.openTransactions(lane), [])
    yield* same("the next number", yield* store.openLane(lease, 0n), firstNumber)
    yield* store.plan(lease, [good])
    yield* loses("a payment that is planned already", store.plan(lease, [yield* planOf(firstNumber + 1n, [first])]))
  })
)

const attemptsAreKept = law(
  "every attempt is kept exactly and in order, and the payments name the last one",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, lane, lease, prepared } = yield* flown(store, subject, 2)
    const second = { ...(yield* signed(firstNumber)), cost: 0n, fees: { maximum: 1n, priority: 0n } }
    const { fees: _, ...third } = yield* signed(undefined)
    yield* store.replace(lease, firstNumber, second)
    yield* store.replace(lease, firstNumber, third)
    const [transaction] = yield* store.openTransactions(lane)
    yield* same("the attempts", transaction?.attempts, [prepared, second, third])
    yield* same("whether what has no fees has them", "fees" in (transaction?.attempts[2] ?? {}), false)
    for (const id of ids) {
      const found = yield* store.find(id)
      yield* same("the transaction", found?.transaction, third.transaction)
      yield* same("the head", found?.since, prepared.head)
      yield* same("the history", found?.history.length, 2)
    }
    yield* loses("bytes for a transaction that never began", store.replace(lease, firstNumber + 1n, second))
  })
)

const slotlessIsKept = law(
  "a family without slots has transactions all the same",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, lane, lease } = yield* staffed(store, subject, 1)
    const prepared = yield* signed(undefined)
    yield* store.plan(lease, [{ number: firstNumber, prepared, paymentIds: ids }])
    yield* same("the attempts", (yield* store.openTransactions(lane))[0]?.attempts, [prepared])
  })
)

const endsStay = law(
  "a new attempt changes no payment that has reached an end",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, lease } = yield* flown(store, subject, 2)
    const [ended = "", open = ""] = ids
    yield* store.record(lease, { changes: [change(ended, "planned", "included", { transaction: "a stranger's" })] })
    const prepared = yield* signed(firstNumber)
    yield* store.replace(lease, firstNumber, prepared)
    yield* same("the ended one", (yield* store.find(ended))?.transaction, "a stranger's")
    yield* same("the open one", (yield* store.find(open))?.transaction, prepared.transaction)
  })
)

const transactionsStayOpen = law(
  "a transaction is open until it is closed, whatever its payments' states, and then it is gone",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, lane, lease } = yield* flown(store, subject, 3)
    const [first = "", second = ""] = ids
    const changes = [change(first, "planned", "included"), change(second, "planned", "failed")]
    yield* store.record(lease, { changes })
    const [transaction] = yield* store.openTransactions(lane)
    yield* same(
      "its payments",
      transaction?.payments.map(({ paymentId, status }) => [paymentId, status]),
      ids.map((id, index) => [id, ["included", "failed", "planned"][index]])
    )
    yield* loadIs(store, lane, 1)
    yield* store.record(lease, { changes: [], transaction: { number: firstNumber, closed: true } })
    yield* same("the transactions", yield* store.openTransactions(lane), [])
    const late = store.record(lease, { changes: [], transaction: { number: firstNumber, inclusion: null } })
    yield* loses("a write about a closed transaction", late)
    yield* same("the last transaction of its payment", (yield* store.find(first))?.laneNumber, firstNumber)
  })
)

const lanesOpen = law(
  "a lane begins with the chain's number once, and skips forward only",
  Effect.fnUntraced(function* (store, subject) {
    const { name: lane } = yield* newLane
    const lease = yield* subject.lease(lane)
    yield* same("the first time", yield* store.openLane(lease, firstNumber), firstNumber)
    yield* same("the second time", yield* store.openLane(lease, 99n), firstNumber)
    yield* same("behind", yield* store.skipTo(lease, firstNumber - 5n), firstNumber)
    yield* same("ahead", yield* store.skipTo(lease, firstNumber + 5n), firstNumber + 5n)
    yield* same("back", yield* store.skipTo(lease, firstNumber), firstNumber + 5n)
    yield* same("opened again", yield* store.openLane(lease, 0n), firstNumber + 5n)
    yield* loses("the old number", store.plan(lease, [yield* planOf(firstNumber, [])]))
    yield* store.plan(lease, [yield* planOf(firstNumber + 5n, [])])
  })
)

const gapsAreFilled = law(
  "a number below the lane's next one without an open transaction can be filled once, and again when its transaction was closed; no other can",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, lane, lease } = yield* flown(store, subject, 1)
    const gap = firstNumber + 1n
    yield* store.skipTo(lease, firstNumber + 3n)
    const noop = yield* signed(gap)
    yield* loses("the lane's next number", store.fillGap(lease, firstNumber + 3n, noop))
    yield* loses("the number of an open transaction", store.fillGap(lease, firstNumber, noop))
    const stale = lease
    const newer = yield* opened(store, subject, lane)
    yield* loses("under a lease that has passed on", store.fillGap(stale, gap, noop))
    yield* store.plan(newer, [yield* planOf(firstNumber + 3n, [])])
    const filled = yield* store.fillGap(newer, gap, noop)
    yield* same("what fills it", filled, { lane, number: gap, attempts: [noop], payments: [], inclusion: undefined })
    const numbers = Effect.map(store.openTransactions(lane), (transactions) => transactions.map(({ number }) => number))
    yield* same("the transactions", yield* numbers, [firstNumber, gap, firstNumber + 3n])
    yield* same("its bytes", (yield* store.openTransactions(lane))[1]?.attempts, [noop])
    yield* loses("the same number again", store.fillGap(newer, gap, noop))
    yield* same("the next number", yield* store.openLane(newer, 0n), firstNumber + 4n)
    const changes = [change(ids[0] ?? "", "planned", "failed")]
    const bytes = (yield* store.openTransactions(lane))[0]?.attempts ?? []
    yield* store.record(newer, {
      changes,
      transaction: { number: firstNumber, inclusion: inclusionOf(noop), closed: true }
    })
    yield* same("the transactions after one was closed", yield* numbers, [gap, firstNumber + 3n])
    const reopened = yield* store.fillGap(newer, firstNumber, noop)
    const [first] = yield* store.openTransactions(lane)
    yield* same("the transaction that is open again", first, reopened)
    yield* same("its number", reopened.number, firstNumber)
    yield* same("its bytes, oldest first", reopened.attempts, [...bytes, noop])
    yield* same(
      "its payments",
      reopened.payments.map(({ paymentId }) => paymentId),
      ids
    )
    yield* same("its inclusion", reopened.inclusion, undefined)
    yield* statusIs(store, ids[0] ?? "", "failed")
  })
)

const lanesInUse = law(
  "a lane is in use while a payment waits in it or one of its transactions is open",
  Effect.fnUntraced(function* (store, subject) {
    const { name: empty } = yield* newLane
    yield* opened(store, subject, empty)
    const { name: queue } = yield* newLane
    yield* waiting(store, queue, 1)
    const { ids, lane, lease } = yield* flown(store, subject, 1)
    const used = Effect.map(store.lanesInUse, (names) => [empty, queue, lane].filter((name) => names.includes(name)))
    yield* same("the lanes in use", yield* used, [queue, lane])
    yield* store.record(lease, { changes: [change(ids[0] ?? "", "planned", "expired")] })
    yield* same("the lanes with a transaction that is not closed", yield* used, [queue, lane])
    yield* store.record(lease, { changes: [], transaction: { number: firstNumber, closed: true } })
    yield* same("the lanes when it is closed", yield* used, [queue])
  })
)

const numbersAreLarge = law(
  "numbers of transactions are as large as a chain's",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, lane, lease } = yield* staffed(store, subject, 1)
    const number = 2n ** 62n
    yield* store.skipTo(lease, number)
    yield* store.plan(lease, [yield* planOf(number, ids)])
    yield* same("its number", (yield* store.openTransactions(lane))[0]?.number, number)
    yield* same("the payment's", (yield* store.find(ids[0] ?? ""))?.laneNumber, number)
  })
)

const claimIsNotWaiting = law(
  "a payment that was never queued waits in no lane, and cannot be planned",
  Effect.fnUntraced(function* (store, subject) {
    const { name: lane } = yield* newLane
    const payment = yield* newPayment()
    yield* claimed(store, payment, undefined)
    const lease = yield* opened(store, subject, lane)
    yield* loses("planning it", store.plan(lease, [yield* planOf(firstNumber, [payment.paymentId])]))
    yield* statusIs(store, payment.paymentId, "accepted")
    yield* holds("the lane has no transactions", (yield* store.openTransactions(lane)).length === 0)
  })
)

/** The laws about lanes. */
export const laws: ReadonlyArray<StoreLaw> = [
  claimsQueue,
  queuedInTurn,
  waitingIsCounted,
  queuedOnce,
  knownIsNotQueued,
  queueIsByAge,
  plansMove,
  plansInARow,
  plansAreWhole,
  attemptsAreKept,
  slotlessIsKept,
  endsStay,
  transactionsStayOpen,
  lanesOpen,
  gapsAreFilled,
  lanesInUse,
  numbersAreLarge,
  claimIsNotWaiting
]
