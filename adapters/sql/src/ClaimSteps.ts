/**
 * What callers do to a record: claim it, have it wait for its settlement, end its run. The judgement of a run is the
 * core's (`Run`); here it is made while nobody else can change the record.
 */
import { type Claim, PaymentChange, PaymentStore, type Run } from "@pontage/core"
import * as Effect from "effect/Effect"

import type { Transaction } from "./Database.ts"
import type { Dialect } from "./Dialect.ts"
import { Reservation, toRun } from "./PaymentRow.ts"
import { asks, type RecordFault, type Records } from "./Records.ts"

type Stored = PaymentStore.StoredPayment
type ClaimStep = Effect.Effect<PaymentStore.ClaimResult, RecordFault>

/** The end of a run, as it is told: by this caller, or in this process where it is left out. */
interface End {
  readonly paymentId: string
  readonly claimId: string
  readonly outcome: Run.End
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
    const { authorization, requirements } = payment
    const payer = [requirements.network, authorization.asset, authorization.payer]
    // A payer's claims go one after another: each sees what the others reserve.
    if (dialect.lock !== undefined) yield* transaction.run(dialect.lock, [payer.join(" ")])
    const known = yield* records.lockOne(transaction, payment.paymentId)
    return known === undefined
      ? yield* claimNew(records, transaction, payment, claim, intake)
      : yield* claimKnown(records, transaction, known, PaymentChange.claimed(known, payment, claim, transaction.now))
  }),

  queue: Effect.fnUntraced(function* (transaction: Transaction, paymentId: string, lane: string) {
    const known = yield* records.lockOne(transaction, paymentId)
    if (known === undefined || known.status !== "accepted" || known.lane !== undefined) return known
    const queued = { ...known, lane }
    transaction.tell(lane)
    yield* records.keep(transaction, [queued])
    return queued
  }),

  finish: Effect.fnUntraced(function* (transaction: Transaction, { caller, claimId, outcome, paymentId }: End) {
    const known = yield* records.lockOne(transaction, paymentId)
    if (known === undefined || (caller !== undefined && known.caller !== caller)) return undefined
    const after = PaymentChange.finished(known, claimId, outcome, transaction.now)
    return after === known ? known : yield* records.keepRun(transaction, after)
  }),

  takeAnswer: Effect.fnUntraced(function* (transaction: Transaction, paymentId: string, call: string) {
    const known = yield* records.lockOne(transaction, paymentId)
    if (known === undefined) return false
    const after = PaymentChange.answerTaken(known, call, transaction.now)
    if (after !== known) yield* records.keepRun(transaction, after)
    return PaymentChange.isAnsweredTo(after, call)
  }),

  returnAnswer: Effect.fnUntraced(function* (transaction: Transaction, paymentId: string, call: string) {
    const known = yield* records.lockOne(transaction, paymentId)
    if (known === undefined) return
    const after = PaymentChange.answerReturned(known, call)
    if (after !== known) yield* records.keepRun(transaction, after)
  })
})

const claimNew = Effect.fnUntraced(function* (
  records: Records,
  transaction: Transaction,
  payment: PaymentStore.NewPayment,
  claim: Claim | undefined,
  { available, lane }: PaymentStore.Intake
): Effect.fn.Return<PaymentStore.ClaimResult, RecordFault> {
  const { authorization, requirements } = payment
  const payer = [requirements.network, authorization.asset, authorization.payer]
  const others = yield* askReservations(transaction.run, reserving, payer)
  const reserved = others
    .filter(({ lane, run, status }) =>
      PaymentStore.reserves({ lane: lane ?? undefined, run: toRun(run), status }, transaction.now)
    )
    .reduce((total, { amount }) => total + amount, 0n)
  if (reserved > 0n && (available === undefined || reserved + authorization.amount > available)) {
    return { _tag: "Overdrawn", reserved }
  }
  const created = yield* records.create(transaction, PaymentChange.created(payment, claim, 0n, lane, transaction.now))
  return { _tag: "Claimed", created: true, execution: claim && "granted", payment: created }
})

const claimKnown = (
  records: Records,
  transaction: Transaction,
  known: Stored,
  result: PaymentStore.ClaimResult
): ClaimStep =>
  result._tag === "Claimed" && result.payment !== known
    ? Effect.map(records.keepRun(transaction, result.payment), (payment) => ({ ...result, payment }))
    : Effect.succeed(result)

const askReservations = asks("payment", Reservation)
const reserving = `SELECT ${Object.keys(Reservation.fields).join(", ")} FROM payment
  WHERE network = ? AND asset = ? AND payer = ? AND active`
