/**
 * The callers' writes to a record: claim it, queue it for settlement, end its execution. The core's `Execution`
 * decides; here the decision is made under the record's lock.
 */
import { type Claim, type ExecutionEnd, PaymentChange, PaymentStore, type Stock } from "@pontage/core"
import * as Effect from "effect/Effect"

import type { Transaction } from "../database/Database.ts"
import type { Dialect } from "../database/SqlDialect.ts"
import { payerOf } from "./OpenPayment.ts"
import type { PayerRows } from "./PayerRows.ts"
import type { RecordFault, Records } from "./Records.ts"
import * as StockRows from "./StockRows.ts"

type Stored = PaymentStore.StoredPayment

/** The reported end of an execution. `caller` is absent when it comes from this process. */
interface End {
  readonly paymentId: string
  readonly claimId: string
  readonly outcome: ExecutionEnd
  readonly caller: string | undefined
}

/** The rows that a claim depends on. */
interface Rows {
  readonly records: Records
  readonly payers: PayerRows
}

/** The steps, over the records of one database. */
export const make = (dialect: Dialect, { payers, records }: Rows) => ({
  claim: Effect.fnUntraced(function* (
    transaction: Transaction,
    payment: PaymentStore.NewPayment,
    claim: Claim | undefined,
    intake: PaymentStore.Intake
  ): Effect.fn.Return<PaymentStore.ClaimResult, RecordFault> {
    yield* takeTurn(dialect, transaction, payment)
    const known = yield* records.lockOne(transaction, payment.paymentId)
    return known === undefined
      ? yield* claimNew({ payers, records }, transaction, payment, claim, intake)
      : yield* claimKnown(
          { payers, records },
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
    const short = yield* overdrawn(payers, transaction, known, queued, cover)
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

/**
 * Serializes a payer's claims, and those on one stock: each sees the balance that the others reserve. The payer's turn comes first
 * everywhere, so two claims never wait for each other.
 */
const takeTurn = Effect.fnUntraced(function* (
  dialect: Dialect,
  transaction: Transaction,
  payment: PaymentStore.NewPayment
) {
  if (dialect.lock === undefined) return
  const draw = payment.delivery?.draw
  yield* transaction.run(dialect.lock, [payerOf(payment).join(" ")])
  if (draw !== undefined) yield* transaction.run(dialect.lock, [`stock ${draw.stock}`])
})

/** The refusal if the record would begin to reserve more than the balance covers. */
const overdrawn = Effect.fnUntraced(function* (
  payers: PayerRows,
  transaction: Transaction,
  before: Stored | undefined,
  after: Stored,
  cover: PaymentStore.Cover
): Effect.fn.Return<PaymentStore.Overdrawn | Stock.Unstocked | undefined, RecordFault> {
  if (!PaymentStore.beginsToReserve(before, after, transaction.now)) return undefined
  const reserved = yield* reservedBy(payers, transaction, after, cover.beside)
  return PaymentStore.isCovered(after, reserved, cover.available)
    ? yield* StockRows.unstocked(transaction, after, cover)
    : { _tag: "Overdrawn", reserved }
})

/** The amount that the payer's open payments reserve, plus those that have ended since `beside` was read. */
const reservedBy = Effect.fnUntraced(function* (
  payers: PayerRows,
  transaction: Transaction,
  payment: PaymentStore.NewPayment,
  beside: PaymentStore.OpenPayments | undefined
) {
  const open = yield* payers.open(transaction, payment)
  const younger = beside === undefined ? [] : yield* payers.endedAfter(transaction, payment, beside.newest)
  const openIds = new Set(open.map(({ paymentId }) => paymentId))
  const earlier = [...(beside?.amounts ?? [])].filter(([paymentId]) => !openIds.has(paymentId))
  const held = open.filter((one) => PaymentStore.reserves(one, transaction.now))
  return [...held.map(({ amount }) => amount), ...younger, ...earlier.map(([, amount]) => amount)].reduce(
    (total, amount) => total + amount,
    0n
  )
})

const claimNew = Effect.fnUntraced(function* (
  { payers, records }: Rows,
  transaction: Transaction,
  payment: PaymentStore.NewPayment,
  claim: Claim | undefined,
  { lane, ...cover }: PaymentStore.Intake
): Effect.fn.Return<PaymentStore.ClaimResult, RecordFault> {
  const reserved = yield* reservedBy(payers, transaction, payment, cover.beside)
  if (!PaymentStore.isCovered(payment, reserved, cover.available)) return { _tag: "Overdrawn", reserved }
  const short = yield* StockRows.unstocked(transaction, payment, cover)
  if (short !== undefined) return short
  const created = yield* records.create(transaction, PaymentChange.created(payment, claim, 0n, lane, transaction.now))
  return { _tag: "Claimed", created: true, execution: claim && "granted", payment: created }
})

const claimKnown = Effect.fnUntraced(function* (
  { payers, records }: Rows,
  transaction: Transaction,
  known: Stored,
  result: PaymentStore.ClaimResult,
  cover: PaymentStore.Cover
): Effect.fn.Return<PaymentStore.ClaimResult, RecordFault> {
  if (result._tag !== "Claimed" || result.payment === known) return result
  const short = yield* overdrawn(payers, transaction, known, result.payment, cover)
  return short ?? { ...result, payment: yield* records.keepExecution(transaction, result.payment) }
})
