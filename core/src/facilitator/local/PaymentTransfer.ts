/**
 * Moves the money of a payment that was taken in, or waits for a transfer under way. A waiting record is verified again before
 * anything is sent for it.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { SettlementPending } from "../../protocol/ProtocolError.ts"
import { isSettled } from "../../protocol/Settlement.ts"
import type { Claim } from "../Facilitator.ts"
import type * as SettlementEngine from "../lane/SettlementEngine.ts"
import type { OpenPayments, StoredPayment } from "../store/PaymentStore.ts"
import { type IntakeContext, type Presented, provenRefusal, type Taken, verifyPayment } from "./PaymentIntake.ts"

/** Moves the money, or waits for a transfer under way. If it fails, the caller may execute nothing. */
export const transfer = Effect.fnUntraced(function* (
  context: IntakeContext,
  taken: Taken,
  update: SettlementEngine.SettlementRequest["update"],
  claim?: Claim
): Effect.fn.Return<StoredPayment, PaymentFailure> {
  const { fresh, presented, stored } = taken
  const openBefore = yield* verifyAgain(context, taken)
  const settling = Effect.flatMap(
    context.engine.settle(presented.facilitator, { stored, update, isNew: fresh, openBefore }),
    (end) => Effect.flatMap(unlessRefused(end), () => delivered(context, end, claim, update))
  )
  const end = yield* Effect.timeoutOption(settling, context.patience)
  return Option.isNone(end) ? yield* pending(context, stored) : end.value
})

const unlessRefused = (end: StoredPayment) =>
  Effect.flatMap(provenRefusal(end), (refusal) => (refusal === undefined ? Effect.void : Effect.fail(refusal)))

/** Waits for the delivery of a settled payment, if its claim awaits that and the money goes on to another network. */
const delivered = Effect.fnUntraced(function* (
  { store }: IntakeContext,
  end: StoredPayment,
  claim: Claim | undefined,
  update: SettlementEngine.SettlementRequest["update"]
): Effect.fn.Return<StoredPayment, PaymentFailure> {
  let now = end
  while (isAwaited(now, claim)) now = (yield* update) ?? (yield* store.find(now.paymentId)) ?? now
  return now
})

/** Whether the claim of this payment may not begin yet, because the money is on its way to another network. */
export const isAwaited = ({ delivery }: StoredPayment, claim: Claim | undefined): boolean =>
  claim?.awaits === "delivered" && delivery !== undefined && delivery.status !== "delivered"

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

/** The failure of a call whose payment is not settled, or not delivered, yet. */
export const pending = Effect.fnUntraced(function* (context: IntakeContext, { paymentId }: StoredPayment) {
  const now = yield* context.store.find(paymentId)
  return yield* new SettlementPending({
    paymentId,
    status: now?.status ?? "accepted",
    ...(now !== undefined && now.transaction !== "" && { transaction: now.transaction }),
    message: `${whatIsPending(paymentId, now)}; send the same payment again, do not sign a new one`
  })
})

const whatIsPending = (paymentId: string, now: StoredPayment | undefined): string =>
  now?.delivery !== undefined && isSettled(now.status)
    ? `the money of ${paymentId} has left ${now.requirements.network} and has not arrived on ${now.delivery.network} yet`
    : `the transfer of ${paymentId} is not confirmed yet`
