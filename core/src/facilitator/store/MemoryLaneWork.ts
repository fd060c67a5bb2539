/** The methods of a memory store for lane workers: each write is refused once a newer holder of the lane was seen. */
import * as Effect from "effect/Effect"

import { type Lease, LeaseLost } from "./LaneLeases.ts"
import * as MemoryLanes from "./MemoryLanes.ts"
import type { MemoryState } from "./MemoryState.ts"
import type { Allowance, NetworkSpend } from "./NetworkSpend.ts"
import * as PaymentChange from "./PaymentChange.ts"
import type {
  StateChange,
  LaneWrite,
  LaneTransaction,
  PaymentStore,
  PlannedTransaction,
  QueueShare,
  StoredPayment
} from "./PaymentStore.ts"
import * as TransactionCost from "./TransactionCost.ts"

type Methods =
  | "loads"
  | "queued"
  | "queuedInTurn"
  | "lanesInUse"
  | "waitingBy"
  | "openTransactions"
  | "openLane"
  | "skipTo"
  | "plan"
  | "books"
  | "fillGap"
  | "replace"
  | "record"

/** A lane during a write. */
interface LaneContext {
  readonly state: MemoryState
  readonly name: string
  readonly lane: MemoryLanes.MemoryLane
  readonly now: number
}

/** The result of a write whose worker's view differs from the records. */
const outdated = Symbol("outdated")

/** Makes the store's lane methods. */
export const make = (state: MemoryState): Pick<PaymentStore["Service"], Methods> => {
  const { lanes } = state
  const fenced = <A>({ epoch, isValid, lane: name }: Lease, body: (context: LaneContext) => A | typeof outdated) =>
    Effect.flatMap(
      state.step((now) => {
        const lane = lanes.held({ epoch, isValid, lane: name })
        return lane === undefined ? outdated : body({ state, name, lane, now })
      }),
      (result) => (result === outdated ? Effect.fail(new LeaseLost({ lane: name })) : Effect.succeed(result))
    )
  return {
    loads: (names) => Effect.sync(() => new Map(names.map((name) => [name, lanes.of(name).load()]))),
    queued: (name, limit) => Effect.sync(() => found(state, lanes.of(name).waiting(limit))),
    queuedInTurn: (name, limit, ofPayer) =>
      Effect.sync(() => inTurn(found(state, lanes.of(name).waiting(Infinity)), limit, ofPayer)),
    lanesInUse: Effect.sync(() => lanes.inUse()),
    waitingBy: (name) => Effect.sync(() => waitingBy(found(state, lanes.of(name).waiting(Infinity)))),
    openTransactions: (name) => Effect.sync(() => transactionsOf(state, name)),
    openLane: (lease, first) => fenced(lease, ({ lane }) => (lane.next ??= first)),
    skipTo: (lease, next) =>
      fenced(lease, ({ lane }) => (lane.next = lane.next !== undefined && lane.next > next ? lane.next : next)),
    plan: (lease, plans, allowance) => fenced(lease, (context) => plan(context, plans, allowance)),
    books: (network, since) => Effect.sync(() => booksOf(state, network, since)),
    fillGap: (lease, number, prepared) =>
      fenced(lease, ({ lane, name }) => {
        if (lane.next === undefined || number >= lane.next || lane.transactions.has(number)) return outdated
        const isOf = (paymentId: string) => {
          const known = state.records.find(paymentId)
          return known?.lane === name && known.laneNumber === number
        }
        return toLaneTransaction(state, name, MemoryLanes.openAgain(lane, number, prepared, isOf))
      }),
    replace: (lease, number, prepared, allowance) =>
      fenced(lease, ({ lane, name, now }) => {
        const transaction = lane.transactions.get(number)
        if (transaction === undefined) return outdated
        const refused = refusedBy(state, name, allowance)
        if (refused !== undefined) return refused
        transaction.attempts = [...transaction.attempts, prepared]
        for (const one of found(state, transaction.paymentIds))
          state.put(PaymentChange.withNewAttempt(one, prepared), now)
        return undefined
      }),
    record: (lease, write) => fenced(lease, (context) => record(context, write))
  }
}

/** Selects each payer's oldest payments; of these each caller's first, then each caller's second, and so on. */
const inTurn = (waiting: ReadonlyArray<StoredPayment>, limit: number, ofPayer: number) => {
  const own = placed(waiting, ({ authorization: { payer }, caller }) => JSON.stringify([caller, payer]))
  const byPlace = own.filter(({ place }) => place < ofPayer).toSorted((a, b) => a.place - b.place)
  const turns = placed(
    byPlace.map(({ one }) => one),
    ({ caller }) => caller
  )
  return turns
    .toSorted((a, b) => a.place - b.place || (a.one.serial < b.one.serial ? -1 : 1))
    .slice(0, limit)
    .map(({ one }) => one)
    .toSorted((a, b) => (a.serial < b.serial ? -1 : 1))
}

const waitingBy = (waiting: ReadonlyArray<StoredPayment>): ReadonlyArray<QueueShare> => {
  const shares = new Map<string, { readonly caller: string; readonly payer: string; waiting: number }>()
  for (const { authorization, caller } of waiting) {
    const { payer } = authorization
    const key = JSON.stringify([caller, payer])
    const share = shares.get(key) ?? { caller, payer, waiting: 0 }
    share.waiting++
    shares.set(key, share)
  }
  return [...shares.values()]
}

/** Pairs each payment with the number of earlier ones of the same key. */
const placed = (all: ReadonlyArray<StoredPayment>, keyOf: (one: StoredPayment) => string) => {
  const counts = new Map<string, number>()
  return all.map((one) => {
    const key = keyOf(one)
    const place = counts.get(key) ?? 0
    counts.set(key, place + 1)
    return { one, place }
  })
}

const found = ({ records }: MemoryState, ids: Iterable<string>): ReadonlyArray<StoredPayment> =>
  [...ids].flatMap((id) => records.find(id) ?? [])

const transactionsOf = (state: MemoryState, name: string): ReadonlyArray<LaneTransaction> =>
  inOrder(state.lanes.of(name).transactions.values()).map((one) => toLaneTransaction(state, name, one))

const toLaneTransaction = (
  state: MemoryState,
  lane: string,
  { attempts, inclusion, number, paymentIds }: MemoryLanes.MemoryTransaction
): LaneTransaction => ({ lane, number, attempts, payments: found(state, paymentIds), inclusion })

const inOrder = (transactions: Iterable<MemoryLanes.MemoryTransaction>): ReadonlyArray<MemoryLanes.MemoryTransaction> =>
  [...transactions].toSorted((a, b) => (a.number < b.number ? -1 : 1))

/** Nothing is written until everything was found as planned. */
const plan = (
  { lane, name, now, state }: LaneContext,
  plans: ReadonlyArray<PlannedTransaction>,
  allowance: Allowance | undefined
): NetworkSpend | undefined | typeof outdated => {
  const { next } = lane
  const ids = plans.flatMap(({ paymentIds }) => paymentIds)
  if (next === undefined || plans.some(({ number }, index) => number !== next + BigInt(index))) return outdated
  const waiting = found(state, ids).filter((one) => PaymentChange.isWaiting(one) && one.lane === name)
  if (waiting.length !== ids.length || new Set(ids).size !== ids.length) return outdated
  const refused = refusedBy(state, name, allowance)
  if (refused !== undefined) return refused
  for (const one of plans) {
    lane.transactions.set(one.number, MemoryLanes.begun(one))
    for (const payment of found(state, one.paymentIds)) {
      state.put(PaymentChange.planned(payment, one.number, one.prepared, now), now)
    }
  }
  lane.next = next + BigInt(plans.length)
  return undefined
}

/** The books, if they do not allow the write. */
const refusedBy = (state: MemoryState, lane: string, allowance: Allowance | undefined): NetworkSpend | undefined => {
  const books = allowance && booksOf(state, TransactionCost.networkOf(lane), allowance.since)
  return books === undefined || allowance?.allows(books) === true ? undefined : books
}

const booksOf = (state: MemoryState, network: string, since: number): NetworkSpend => ({
  spent: state.costs.byCaller(network, since),
  open: state.lanes.on(network).flatMap(({ transactions }) =>
    [...transactions.values()].flatMap(({ attempts, inclusion, paymentIds }) => {
      const payments = found(state, paymentIds)
      const last = attempts.at(-1)
      const isOpen = last?.slot !== undefined || payments.some(PaymentChange.isPending)
      return inclusion === undefined && last !== undefined && isOpen
        ? [{ cost: last.cost, callers: payments.map(({ caller }) => caller) }]
        : []
    })
  )
})

const record = (
  context: LaneContext,
  { changes, transaction }: LaneWrite
): ReadonlyArray<StoredPayment | undefined> | typeof outdated => {
  const open = transaction && context.lane.transactions.get(transaction.number)
  if (transaction !== undefined && open === undefined) return outdated
  if (open !== undefined && transaction?.inclusion !== undefined)
    setInclusion(context, open, transaction.inclusion ?? undefined)
  const changed = changes.map((change) => applyChange(context, change))
  if (open !== undefined && transaction?.closed === true) MemoryLanes.close(context.lane, open)
  return changed
}

/**
 * Books the cost. A transaction that is included again after its block was taken back is booked with the part by which it costs more
 * than before.
 */
const setInclusion = (
  { name, now, state }: LaneContext,
  transaction: MemoryLanes.MemoryTransaction,
  inclusion: MemoryLanes.MemoryTransaction["inclusion"]
) => {
  transaction.inclusion = inclusion
  if (inclusion === undefined) return
  const more = inclusion.cost - transaction.booked
  transaction.booked = inclusion.cost
  if (more <= 0n) return
  const callers = found(state, transaction.paymentIds).map(({ caller }) => caller)
  state.costs.book(name, more, callers, now)
}

/** A payment that is in another lane by now is not changed. */
const applyChange = ({ name, now, state }: LaneContext, change: StateChange): StoredPayment | undefined => {
  const known = state.records.find(change.paymentId)
  const isHere = known?.lane === undefined || known.lane === name
  return known !== undefined && isHere && change.from.includes(known.status)
    ? state.put(PaymentChange.changed(known, change, now), now)
    : undefined
}
