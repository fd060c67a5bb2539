/**
 * The writes of a lane's worker. Each step locks the lane's row and checks its epoch first: a worker whose lease has
 * passed on, for example after a freeze or a network cut, writes nothing.
 */
import {
  type Allowance,
  type OpenExpense,
  TransactionCost,
  LaneLeases,
  PaymentChange,
  type PaymentStore,
  type PreparedTransaction
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Transaction } from "../database/Database.ts"
import type { Dialect } from "../database/SqlDialect.ts"
import type * as CostBook from "./CostBook.ts"
import type { LaneTransactionRows, OpenTransaction } from "./LaneTransactionRows.ts"
import * as Records from "./Records.ts"

type Stored = PaymentStore.StoredPayment
type Lease = LaneLeases.Lease
type Step<A> = Effect.Effect<A, Records.RecordFault | LaneLeases.LeaseLost>

/** The dependencies of the steps. */
export interface Context {
  readonly dialect: Dialect
  readonly records: Records.Records
  readonly transactions: LaneTransactionRows
  readonly costs: CostBook.CostBook
}

/** The steps. */
export const make = (context: Context) => {
  const lane = holding(context.dialect)
  return {
    openLane: Effect.fnUntraced(function* ({ run }: Transaction, lease: Lease, first: bigint) {
      const next = yield* lane(run, lease)
      if (next !== null) return next
      yield* run(setNext, [first, lease.lane])
      return first
    }),

    skipTo: Effect.fnUntraced(function* ({ run }: Transaction, lease: Lease, least: bigint) {
      const next = yield* lane(run, lease)
      if (next !== null && next >= least) return next
      yield* run(setNext, [least, lease.lane])
      return least
    }),

    plan: Effect.fnUntraced(function* (
      transaction: Transaction,
      lease: Lease,
      plans: ReadonlyArray<PaymentStore.PlannedTransaction>,
      allowance: Allowance | undefined
    ) {
      const next = yield* lane(transaction.run, lease)
      if (next === null || plans.some(({ number }, index) => number !== next + BigInt(index))) {
        return yield* new LaneLeases.LeaseLost({ lane: lease.lane })
      }
      const refused = allowance && (yield* refusedBy(context, transaction, lease, allowance))
      if (refused !== undefined) return refused
      yield* transaction.run(setNext, [next + BigInt(plans.length), lease.lane])
      yield* context.transactions.begin(transaction.run, lease.lane, plans)
      yield* takeFromQueue(context, transaction, lease, plans)
      return undefined
    }),

    fillGap: Effect.fnUntraced(function* (
      transaction: Transaction,
      lease: Lease,
      number: bigint,
      prepared: PreparedTransaction
    ) {
      const { transactions } = context
      const next = yield* lane(transaction.run, lease)
      const isBegun =
        next !== null &&
        number < next &&
        (yield* transactions.beginAgain(transaction.run, lease.lane, number, prepared))
      const open = isBegun ? yield* transactions.all(transaction, lease.lane) : []
      return open.find((one) => one.number === number) ?? (yield* new LaneLeases.LeaseLost({ lane: lease.lane }))
    }),

    replace: Effect.fnUntraced(function* (
      transaction: Transaction,
      lease: Lease,
      { number, prepared }: Pick<PaymentStore.PlannedTransaction, "number" | "prepared">,
      allowance: Allowance | undefined
    ) {
      yield* lane(transaction.run, lease)
      yield* openTransaction(context, transaction, lease, number)
      const refused = allowance && (yield* refusedBy(context, transaction, lease, allowance))
      if (refused !== undefined) return refused
      yield* context.transactions.addAttempt(transaction.run, lease.lane, number, prepared)
      const payments = yield* context.records.lock(transaction, ofTransaction, [lease.lane, number])
      yield* context.records.keep(
        transaction,
        payments.filter(PaymentChange.isPending).map((one) => PaymentChange.withNewAttempt(one, prepared))
      )
      return undefined
    }),

    record: Effect.fnUntraced(function* (transaction: Transaction, lease: Lease, write: PaymentStore.LaneWrite) {
      yield* lane(transaction.run, lease)
      const open = write.transaction && (yield* openTransaction(context, transaction, lease, write.transaction.number))
      const booking = open && (yield* bookingOf(transaction, open, write.transaction))
      const changed = yield* applyChanges(context, transaction, lease, write.changes)
      if (open !== undefined) yield* context.transactions.change(transaction.run, open, write.transaction)
      // The books come last, since all lanes of a network write this row.
      if (booking !== undefined) yield* context.costs.book(transaction, lease.lane, booking.cost, booking.callers)
      return changed
    })
  }
}

const setNext = "UPDATE lane SET next = ? WHERE name = ?"
const ofTransaction = "WHERE p.lane = ? AND p.lane_number = ?"

const LaneRow = Schema.Struct({ next: Schema.NullOr(Schema.BigInt), epoch: Schema.BigInt })
const askLane = Records.asks("lane", LaneRow)

/** Locks the lease's lane and returns its next number. Only the newest epoch may write. */
const holding = (dialect: Dialect) => {
  const text = `SELECT next, epoch FROM lane WHERE name = ?${dialect.locksRows ? " FOR UPDATE" : ""}`
  return Effect.fnUntraced(function* (run: Transaction["run"], lease: Lease) {
    const epoch = BigInt(lease.epoch)
    const [known] = yield* askLane(run, text, [lease.lane])
    if (known !== undefined && known.epoch > epoch) return yield* new LaneLeases.LeaseLost({ lane: lease.lane })
    if (known === undefined) yield* run("INSERT INTO lane (name, next, epoch) VALUES (?, NULL, ?)", [lease.lane, epoch])
    else if (known.epoch < epoch) yield* run("UPDATE lane SET epoch = ? WHERE name = ?", [epoch, lease.lane])
    return known?.next ?? null
  })
}

/** The books, if they do not allow the write. They stay locked for other planners until this transaction ends. */
const refusedBy = Effect.fnUntraced(function* (
  { costs }: Context,
  transaction: Transaction,
  { lane }: Lease,
  { allows, since }: Allowance
) {
  const network = TransactionCost.networkOf(lane)
  yield* costs.lock(transaction, network)
  const books = yield* costs.books(transaction, network, since)
  return allows(books) ? undefined : books
})

const openTransaction = (context: Context, { run }: Transaction, lease: Lease, number: bigint): Step<OpenTransaction> =>
  Effect.flatMap(context.transactions.open(run, lease.lane, number), (open) =>
    open === undefined ? Effect.fail(new LaneLeases.LeaseLost({ lane: lease.lane })) : Effect.succeed(open)
  )

/** Takes the payments of the plans from the queue; each of them must be in it. */
const takeFromQueue = Effect.fnUntraced(function* (
  { records }: Context,
  transaction: Transaction,
  lease: Lease,
  plans: ReadonlyArray<PaymentStore.PlannedTransaction>
): Effect.fn.Return<void, Records.RecordFault | LaneLeases.LeaseLost> {
  const ids = plans.flatMap(({ paymentIds }) => paymentIds)
  if (ids.length === 0) return
  const found = yield* records.lockAll(transaction, ids)
  const waiting = new Map(
    found
      .filter((one) => PaymentChange.isWaiting(one) && one.lane === lease.lane)
      .map((one) => [one.paymentId, one] as const)
  )
  const transitions = plans.flatMap(({ number, paymentIds, prepared }) =>
    paymentIds.flatMap((id) => {
      const before = waiting.get(id)
      waiting.delete(id)
      return before === undefined
        ? []
        : [{ before, after: PaymentChange.planned(before, number, prepared, transaction.now) }]
    })
  )
  if (transitions.length !== ids.length) return yield* new LaneLeases.LeaseLost({ lane: lease.lane })
  yield* records.takeFromQueue(transaction, transitions)
})

/** Applies the changes that apply to their records, in order. */
const applyChanges = Effect.fnUntraced(function* (
  { records }: Context,
  transaction: Transaction,
  lease: Lease,
  changes: ReadonlyArray<PaymentStore.StateChange>
): Effect.fn.Return<ReadonlyArray<Stored | undefined>, Records.RecordFault> {
  if (changes.length === 0) return []
  const found = yield* records.lockAll(
    transaction,
    changes.map(({ paymentId }) => paymentId)
  )
  const current = new Map(found.map((one) => [one.paymentId, one]))
  const transitions: Array<Records.Transition> = []
  const changed = changes.map((change) => {
    const before = current.get(change.paymentId)
    if (before === undefined || !change.from.includes(before.status) || isElsewhere(before, lease)) return undefined
    const after = PaymentChange.changed(before, change, transaction.now)
    current.set(change.paymentId, after)
    transitions.push({ before, after })
    return after
  })
  yield* records.transition(transaction, transitions)
  return changed
})

/** Whether the payment is in another lane by now. */
const isElsewhere = ({ lane }: Stored, lease: Lease): boolean => lane !== undefined && lane !== lease.lane

/** The part of an inclusion's cost that is not in the books yet, and the callers that pay for it; `undefined` if there is none. */
const bookingOf = (
  { run }: Transaction,
  { booked, lane, number }: OpenTransaction,
  change: PaymentStore.LaneWrite["transaction"]
): Effect.Effect<OpenExpense | undefined, Records.RecordFault> => {
  const cost = change?.inclusion ? change.inclusion.cost - booked : 0n
  return cost <= 0n
    ? Effect.undefined
    : Effect.map(askCallers(run, callersOfTransaction, [lane, number]), (rows) => ({
        cost,
        callers: rows.map(({ caller }) => caller)
      }))
}

const askCallers = Records.asks("payment", Schema.Struct({ caller: Schema.String }))
const callersOfTransaction = `SELECT p.caller FROM payment p ${ofTransaction} ORDER BY p.position`
