/**
 * Moves the money of a payment that was taken in, or waits for a transfer under way. A waiting record is verified again before
 * anything is sent for it.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { SettlementPending } from "../../protocol/ProtocolError.ts"
import type * as SettlementEngine from "../lane/SettlementEngine.ts"
import type { OpenPayments, StoredPayment } from "../store/PaymentStore.ts"
import { type IntakeContext, type Presented, provenRefusal, type Taken, verifyPayment } from "./PaymentIntake.ts"

/** Moves the money, or waits for a transfer under way. If it fails, the caller may execute nothing. */
export const transfer = Effect.fnUntraced(function* (
  context: IntakeContext,
  taken: Taken,
  update: SettlementEngine.SettlementRequest["update"]
): Effect.fn.Return<StoredPayment, PaymentFailure> {
  const { fresh, presented, stored } = taken
  const openBefore = yield* verifyAgain(context, taken)
  const settling = context.engine.settle(presented.facilitator, { stored, update, isNew: fresh, openBefore })
  const end = yield* Effect.timeoutOption(settling, context.patience)
  if (Option.isNone(end)) return yield* pending(context, stored)
  const refusal = yield* provenRefusal(end.value)
  return refusal === undefined ? end.value : yield* refusal
})

/**
 * A waiting record is verified again before anything is sent for it, unless it is pending already. The money of one
 * that was pending before, or that another party sent, may have moved meanwhile: its lane finds out. Returns the
 * payer's payments that were open before the verification; `undefined` without one.
 */
export const verifyAgain = Effect.fnUntraced(function* (
  context: IntakeContext,
  { fresh, presented, stored }: Taken
): Effect.fn.Return<OpenPayments | undefined, PaymentFailure> {
  if (fresh || stored.status !== "accepted" || stored.lane !== undefined) return undefined
  const beside = yield* context.store.openPayments(presented)
  return yield* Effect.matchEffect(verifyPayment(context, presented), {
    onSuccess: (at) =>
      Effect.as(
        Effect.sync(() => context.engine.rememberVerified(presented, presented.payment, at)),
        beside
      ),
    onFailure: (error) =>
      Effect.flatMap(mayBeSettled(context, presented, stored, error), (may) =>
        may ? Effect.undefined : Effect.fail(error)
      )
  })
})

const mayBeSettled = Effect.fnUntraced(function* (
  { engine, store }: IntakeContext,
  { facilitator, payment }: Presented,
  { paymentId }: StoredPayment,
  refusal: PaymentFailure
) {
  const now = yield* store.find(paymentId)
  if (now === undefined) return false
  if (now.status !== "accepted" || now.lane !== undefined || now.since !== undefined) return true
  return yield* engine.isSettledByAnother(facilitator, now, payment, refusal)
})

const pending = Effect.fnUntraced(function* (context: IntakeContext, { paymentId }: StoredPayment) {
  const now = yield* context.store.find(paymentId)
  return yield* new SettlementPending({
    paymentId,
    status: now?.status ?? "accepted",
    ...(now !== undefined && now.transaction !== "" && { transaction: now.transaction }),
    message: `the transfer of ${paymentId} is not confirmed yet; send the same payment again, do not sign a new one`
  })
})
