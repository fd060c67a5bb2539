/**
 * The laws about the cost of settling on a network: the books contain all of it, whichever lane signed, and a plan that
 * they do not allow is not written.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { NetworkSpend } from "../../facilitator/store/NetworkSpend.ts"
import { LaneName } from "../../facilitator/store/PaymentStore.ts"
import { same } from "../Law.ts"
import {
  change,
  firstNumber,
  inclusionOf,
  law,
  newLane,
  newName,
  opened,
  planOf,
  signed,
  statusIs,
  type Store,
  type StoreLaw,
  type StoreSubject,
  waiting
} from "./PaymentStoreTrial.ts"

/** The maximum cost of a transaction of the laws. */
const most = 2n ** 80n + 1n

const entries = (spent: NetworkSpend["spent"]) => [...spent].filter(([, cost]) => cost > 0n)
const costs = ({ open }: NetworkSpend) => open.map(({ cost }) => cost).toSorted((a, b) => (a < b ? -1 : 1))
/** The callers of each transaction, the one with more payments first. */
const callersIn = ({ open }: NetworkSpend) => open.map(({ callers }) => callers).toSorted((a, b) => b.length - a.length)

/** Two opened lanes of one network, each with queued payments of one caller. */
const neighbours = Effect.fnUntraced(function* (store: Store, subject: StoreSubject) {
  const { name: first, network } = yield* newLane
  const second = LaneName(network, "signer-2")
  const callers = [yield* newName, yield* newName] as const
  const lane = Effect.fnUntraced(function* (name: string, caller: string) {
    const ids = yield* waiting(store, name, 2, { caller })
    return { ids, lease: yield* opened(store, subject, name) }
  })
  return { callers, network, first: yield* lane(first, callers[0]), second: yield* lane(second, callers[1]) }
})

const booksShowAll = law(
  "the books of a network show what every lane has spent, by callers, and all that is in no block yet",
  Effect.fnUntraced(function* (store, subject) {
    const { callers, first, network, second } = yield* neighbours(store, subject)
    const start = yield* Clock.currentTimeMillis
    yield* same("at first", yield* store.books(network, start), { spent: new Map(), open: [] })
    const plan = yield* planOf(firstNumber, first.ids)
    yield* store.plan(first.lease, [plan])
    yield* store.plan(second.lease, [yield* planOf(firstNumber, second.ids.slice(0, 1))])
    const dearer = { ...(yield* signed(firstNumber)), cost: most + 5n }
    yield* store.replace(second.lease, firstNumber, dearer)
    const [mine, theirs] = callers
    const both = yield* store.books(network, start)
    yield* same("what is open", costs(both), [most, most + 5n])
    yield* same("whose it is", callersIn(both), [[mine, mine], [theirs]])
    yield* same("what is spent", entries(both.spent), [])
    yield* same("on another network", (yield* store.books(`${network}x`, start)).open, [])
    const inclusion = inclusionOf(plan.prepared, 9n)
    yield* store.record(first.lease, { changes: [], transaction: { number: firstNumber, inclusion } })
    const after = yield* store.books(network, start)
    yield* same("what is open after a inclusionOf", costs(after), [most + 5n])
    yield* same("what is spent after a inclusionOf", entries(after.spent), [[mine, 9n]])
    yield* store.record(first.lease, { changes: [], transaction: { number: firstNumber, inclusion: null } })
    yield* same("after its block was taken back", costs(yield* store.books(network, start)), [most, most + 5n])
    yield* store.record(first.lease, { changes: [], transaction: { number: firstNumber, inclusion, closed: true } })
    yield* same("once it is closed", costs(yield* store.books(network, start)), [most + 5n])
    const later = yield* store.books(network, start + 26 * 3_600_000)
    yield* same("since tomorrow", entries(later.spent), [])
  })
)

const withoutSlotsEnd = law(
  "a transaction without a slot is open in the books while a payment in it is",
  Effect.fnUntraced(function* (store, subject) {
    const { network } = yield* newLane
    const lane = LaneName(network, "")
    const [id = ""] = yield* waiting(store, lane, 1)
    const lease = yield* opened(store, subject, lane)
    yield* store.plan(lease, [{ number: firstNumber, prepared: yield* signed(undefined), paymentIds: [id] }])
    yield* same("on its way", costs(yield* store.books(network, 0)), [most])
    yield* store.record(lease, { changes: [change(id, "planned", "expired")] })
    yield* same("once its payment is over", costs(yield* store.books(network, 0)), [])
  })
)

const refusedPlansAreNotWritten = law(
  "a plan that the books do not allow is not written, and its books are returned",
  Effect.fnUntraced(function* (store, subject) {
    const { first, network } = yield* neighbours(store, subject)
    const [id = "", other = ""] = first.ids
    const since = yield* Clock.currentTimeMillis
    yield* store.plan(first.lease, [yield* planOf(firstNumber, [id])])
    const plan = yield* planOf(firstNumber + 1n, [other])
    const judged: Array<NetworkSpend> = []
    const refused = yield* store.plan(first.lease, [plan], {
      since,
      allows: (books) => {
        judged.push(books)
        return false
      }
    })
    yield* same("the books", refused && costs(refused), [most])
    yield* same("the books that were judged", judged.at(-1), refused)
    yield* statusIs(store, other, "accepted")
    yield* same("the transactions", (yield* store.openTransactions(first.lease.lane)).length, 1)
    yield* same("what waits", (yield* store.queued(first.lease.lane, 9)).length, 1)
    const allowed = yield* store.plan(first.lease, [plan], { since, allows: ({ open }) => open.length === 1 })
    yield* same("the answer to a plan that is allowed", allowed, undefined)
    yield* statusIs(store, other, "planned")
    yield* same("what is open", costs(yield* store.books(network, since)), [most, most])
  })
)

const refusedBytesAreNotKept = law(
  "another attempt that the books do not allow is not kept, and the books are returned",
  Effect.fnUntraced(function* (store, subject) {
    const { first, network } = yield* neighbours(store, subject)
    const plan = yield* planOf(firstNumber, first.ids)
    yield* store.plan(first.lease, [plan])
    const dearer = { ...(yield* signed(firstNumber)), cost: most + 5n }
    const refused = yield* store.replace(first.lease, firstNumber, dearer, {
      since: 0,
      allows: ({ open }) => open.length === 0
    })
    yield* same("the books", refused && costs(refused), [most])
    const [transaction] = yield* store.openTransactions(first.lease.lane)
    yield* same("the bytes", transaction?.attempts.length, 1)
    yield* same("what is open", costs(yield* store.books(network, 0)), [most])
    const allowed = yield* store.replace(first.lease, firstNumber, dearer, {
      since: 0,
      allows: ({ open }) => open.length === 1
    })
    yield* same("the answer to bytes that are allowed", allowed, undefined)
    yield* same("what is open then", costs(yield* store.books(network, 0)), [most + 5n])
  })
)

const oneTakesTheRoom = law(
  "of two lanes that plan at once where there is room for one, one writes",
  Effect.fnUntraced(function* (store, subject) {
    const { first, network, second } = yield* neighbours(store, subject)
    const allowance = { since: 0, allows: ({ open }: NetworkSpend) => open.length === 0 }
    const plans = yield* Effect.forEach([first, second], ({ ids, lease }) =>
      Effect.map(planOf(firstNumber, ids), (plan) => ({ lease, plan }))
    )
    const answers = yield* Effect.forEach(plans, ({ lease, plan }) => store.plan(lease, [plan], allowance), {
      concurrency: "unbounded"
    })
    yield* same("how many were written", answers.filter((answer) => answer === undefined).length, 1)
    yield* same("what is open", costs(yield* store.books(network, 0)), [most])
  })
)

/** The laws about a network's books. */
export const laws: ReadonlyArray<StoreLaw> = [
  booksShowAll,
  withoutSlotsEnd,
  refusedPlansAreNotWritten,
  refusedBytesAreNotKept,
  oneTakesTheRoom
]
