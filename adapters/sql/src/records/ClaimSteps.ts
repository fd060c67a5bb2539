/**
 * The callers' writes to a record: claim it, queue it for settlement, end its execution. The core's `Execution`
 * decides; here the decision is made under the record's lock.
 */
import {
  Amount,
  type Claim,
  type ExecutionEnd,
  type FacilitatorUnavailable,
  PaymentChange,
  PaymentStore
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Transaction } from "../database/Database.ts"
import type { Dialect } from "../database/SqlDialect.ts"
import { Reservation, toExecution } from "./PaymentRow.ts"
import { asks, reads, type RecordFault, type Records } from "./Records.ts"

type Stored = PaymentStore.StoredPayment

/** The reported end of an execution. `caller` is absent when it comes from this process. */
interface End {
  readonly paymentId: string
  readonly claimId: string
  readonly outcome: ExecutionEnd
  readonly caller: string | undefined
}

/** The steps, over the records of one database. */
export const make = (dialect: Dialect, records: Records) => ({
  claim: Effect.fnUntraced(function* (
    transaction: Transaction,
    payment: PaymentStore.NewPayment,
    claim: Claim | undefined,
    intake: PaymentStore.Intake
  ): Effect.fn.Return<PaymentStore.ClaimResult, RecordFault> {
    yield* takeTurn(dialect, transaction, payment)
    const known = yield* records.lockOne(transaction, payment.paymentId)
    return known === undefined
      ? yield* claimNew(records, transaction, payment, claim, intake)
      : yield* claimKnown(
          records,
          transaction,
          known,
          PaymentChange.claimed(known, payment, claim, transaction.now),
          intake
        )
  }),

  queue: Effect.fnUntraced(function* (
    transaction: Transaction,
    paymentId: string,
    lane: string,
    cover: PaymentStore.Cover
  ): Effect.fn.Return<PaymentStore.QueueResult, RecordFault> {
    // The payer's lock is taken before the record's, in the same order as for claims.
    const seen = dialect.lock === undefined ? undefined : yield* records.find(transaction, paymentId)
    if (seen !== undefined) yield* takeTurn(dialect, transaction, seen)
    const known = yield* records.lockOne(transaction, paymentId)
    if (known === undefined || known.status !== "accepted" || known.lane !== undefined) {
      return { _tag: "Queued", payment: known }
    }
    const queued = { ...known, lane }
    const short = yield* overdrawn(transaction, known, queued, cover)
    if (short !== undefined) return short
    transaction.notify(lane)
    yield* records.keep(transaction, [queued])
    return { _tag: "Queued", payment: queued }
  }),

  finish: Effect.fnUntraced(function* (transaction: Transaction, { caller, claimId, outcome, paymentId }: End) {
    const known = yield* records.lockOne(transaction, paymentId)
    if (known === undefined || (caller !== undefined && known.caller !== caller)) return undefined
    const after = PaymentChange.finished(known, claimId, outcome, transaction.now)
    return after === known ? known : yield* records.keepExecution(transaction, after)
  }),

  takeAnswer: Effect.fnUntraced(function* (transaction: Transaction, paymentId: string, call: string) {
    const known = yield* records.lockOne(transaction, paymentId)
    if (known === undefined) return false
    const after = PaymentChange.answerTaken(known, call, transaction.now)
    if (after !== known) yield* records.keepExecution(transaction, after)
    return PaymentChange.isAnsweredTo(after, call)
  }),

  returnAnswer: Effect.fnUntraced(function* (transaction: Transaction, paymentId: string, call: string) {
    const known = yield* records.lockOne(transaction, paymentId)
    if (known === undefined) return
    const after = PaymentChange.answerReturned(known, call)
    if (after !== known) yield* records.keepExecution(transaction, after)
  })
})

/** Serializes a payer's claims: each sees the balance that the others reserve. */
const takeTurn = (dialect: Dialect, transaction: Transaction, payment: PaymentStore.NewPayment) =>
  dialect.lock === undefined ? Effect.void : Effect.asVoid(transaction.run(dialect.lock, [payerOf(payment).join(" ")]))

/** The key of the balance that pays: network, asset and payer. */
export const payerOf = ({ authorization, requirements }: PaymentStore.NewPayment): ReadonlyArray<string> => [
  requirements.network,
  authorization.asset,
  authorization.payer
]

/** The refusal if the record would begin to reserve more than the balance covers. */
const overdrawn = Effect.fnUntraced(function* (
  transaction: Transaction,
  before: Stored | undefined,
  after: Stored,
  { available, beside }: PaymentStore.Cover
): Effect.fn.Return<PaymentStore.Overdrawn | undefined, RecordFault> {
  if (!PaymentStore.beginsToReserve(before, after, transaction.now)) return undefined
  const reserved = yield* reservedBy(transaction, after, beside)
  return PaymentStore.isCovered(after, reserved, available) ? undefined : { _tag: "Overdrawn", reserved }
})

/** The amount that the payer's open payments reserve, plus those that have ended since `beside` was read. */
const reservedBy = Effect.fnUntraced(function* (
  { now, run }: Transaction,
  payment: PaymentStore.NewPayment,
  beside: PaymentStore.OpenPayments | undefined
) {
  const payer = payerOf(payment)
  const open = yield* askReservations(run, reserving, payer)
  const younger = beside === undefined ? [] : yield* askAmounts(run, endedAfter, [...payer, beside.newest])
  const openIds = new Set(open.map(({ payment_id }) => payment_id))
  const earlier = [...(beside?.amounts ?? [])].filter(([paymentId]) => !openIds.has(paymentId))
  const held = open.filter(({ lane, execution, status }) =>
    PaymentStore.reserves({ lane: lane ?? undefined, execution: toExecution(execution), status }, now)
  )
  return [
    ...held.map(({ amount }) => amount),
    ...younger.map(({ amount }) => amount),
    ...earlier.map(([, amount]) => amount)
  ].reduce((total, amount) => total + amount, 0n)
})

const claimNew = Effect.fnUntraced(function* (
  records: Records,
  transaction: Transaction,
  payment: PaymentStore.NewPayment,
  claim: Claim | undefined,
  { available, beside, lane }: PaymentStore.Intake
): Effect.fn.Return<PaymentStore.ClaimResult, RecordFault> {
  const reserved = yield* reservedBy(transaction, payment, beside)
  if (!PaymentStore.isCovered(payment, reserved, available)) return { _tag: "Overdrawn", reserved }
  const created = yield* records.create(transaction, PaymentChange.created(payment, claim, 0n, lane, transaction.now))
  return { _tag: "Claimed", created: true, execution: claim && "granted", payment: created }
})

const claimKnown = Effect.fnUntraced(function* (
  records: Records,
  transaction: Transaction,
  known: Stored,
  result: PaymentStore.ClaimResult,
  cover: PaymentStore.Cover
): Effect.fn.Return<PaymentStore.ClaimResult, RecordFault> {
  if (result._tag !== "Claimed" || result.payment === known) return result
  const short = yield* overdrawn(transaction, known, result.payment, cover)
  return short ?? { ...result, payment: yield* records.keepExecution(transaction, result.payment) }
})

const askReservations = asks("payment", Reservation)
const ofPayer = "network = ? AND asset = ? AND payer = ?"
const reserving = `SELECT ${Object.keys(Reservation.fields).join(", ")} FROM payment WHERE ${ofPayer} AND active`

const askAmounts = asks("payment", Schema.Struct({ payment_id: Schema.String, amount: Amount.FromText }))
/** Ended payments with a serial above this one: few, since it was read a moment ago. */
const endedAfter = `SELECT payment_id, amount FROM payment WHERE ${ofPayer} AND serial > ? AND NOT active`

/** The query of a payer's open payments (`payerOf`); one row without a payment if there are none. */
export const askingOpen = `SELECT last.serial AS newest, p.payment_id, p.amount
  FROM (SELECT coalesce(max(serial), 0) AS serial FROM payment) last
  LEFT JOIN payment p ON p.network = ? AND p.asset = ? AND p.payer = ? AND p.active`

const readOpen = reads(
  "payment",
  Schema.Struct({
    newest: Schema.BigInt,
    payment_id: Schema.NullOr(Schema.String),
    amount: Schema.NullOr(Amount.FromText)
  })
)

/** Decodes the rows of `askingOpen`. */
export const toOpen = (
  rows: ReadonlyArray<unknown>
): Effect.Effect<PaymentStore.OpenPayments, FacilitatorUnavailable> => {
  const newest = withoutOpen(rows)
  if (newest !== undefined) return Effect.succeed({ amounts: new Map(), newest })
  return Effect.map(readOpen(rows), (open) => {
    const named = open.flatMap(({ amount, payment_id }) =>
      payment_id === null || amount === null ? [] : [[payment_id, amount] as const]
    )
    return { amounts: new Map(named), newest: open[0]?.newest ?? 0n }
  })
}

/** The newest serial if the payer has no open payment: most have none, and these rows need no decoder. */
const withoutOpen = (rows: ReadonlyArray<unknown>): bigint | undefined => {
  const [row] = rows
  if (rows.length !== 1 || typeof row !== "object" || row === null) return undefined
  const isNone = "payment_id" in row && row.payment_id === null && "amount" in row && row.amount === null
  return isNone && "newest" in row && typeof row.newest === "bigint" ? row.newest : undefined
}
