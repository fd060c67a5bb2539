/**
 * Reads a payment: opens its payload, and gives the signed terms in the form that all schemes share. Several parts read the same
 * request one after the other, such as a limit per payer and the intake; the payment is read once for all of them.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { PaymentError } from "../../protocol/PaymentError.ts"
import { openPayload } from "../../protocol/PaymentPayload.ts"
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import type { Payment, SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import type { PaymentRequest } from "../Facilitator.ts"
import type { LaneTransaction, StoredPayment } from "../store/PaymentStore.ts"
import type { BatchedPayment, TrackedTransaction } from "./TrackedTransaction.ts"

/** A payment as its scheme reads it, and the scheme's JSON. None of it is verified yet. */
export interface PaymentReading {
  readonly scheme: SchemeFacilitator
  readonly payment: Payment
  readonly payload: Schema.Json
}

const decodeJson = Schema.decodeUnknownResult(Schema.Json)

/**
 * The last reading: a request is read again at once or not at all. Requests never change, and a reading depends on the request alone. A
 * `WeakMap` of all readings would keep each of them longer than its request, until the whole heap is collected.
 */
let last: { readonly request: PaymentRequest; readonly reading: PaymentReading } | undefined

/**
 * Reads a payment by the scheme of its network. The request that the same scheme has read last is not read again.
 */
export const read = Effect.fnUntraced(function* (scheme: SchemeFacilitator, request: PaymentRequest) {
  if (last?.request === request && last.reading.scheme === scheme) return last.reading
  const json = yield* Effect.fromResult(openPayload(request.paymentPayload))
  const payload = yield* Effect.mapError(Effect.fromResult(decodeJson(json)), () =>
    invalid("malformed", "payload_json", "the payload is not a JSON value")
  )
  const payment = yield* scheme.read({ ...request.paymentRequirements, network: scheme.network }, payload)
  const reading: PaymentReading = { scheme, payment, payload }
  last = { request, reading }
  return reading
})

/**
 * A reading of a payment that may be on record. `refusal` is the reason why today's settings would refuse it as a new payment.
 */
export interface KnownReading extends PaymentReading {
  readonly refusal: PaymentError | ValidationError | undefined
}

/** Reads a payment that may be on record: one accepted under earlier settings is read by those. */
export const readKnown = (
  scheme: SchemeFacilitator,
  request: PaymentRequest
): Effect.Effect<KnownReading, PaymentError | ValidationError> =>
  Effect.matchEffect(read(scheme, request), {
    onSuccess: (reading) => Effect.succeed({ ...reading, refusal: undefined }),
    onFailure: (refusal) =>
      Effect.gen(function* () {
        const payload = yield* Effect.mapError(Effect.fromResult(openPayload(request.paymentPayload)), () => refusal)
        const json = yield* Effect.mapError(Effect.fromResult(decodeJson(payload)), () => refusal)
        const requirements = { ...request.paymentRequirements, network: scheme.network }
        return { scheme, payload: json, payment: yield* recalled(scheme, requirements, json, refusal), refusal }
      })
  })

/**
 * Reads a payment on record on behalf of its caller, even if today's settings would refuse it.
 */
export const ofRecord = (
  scheme: SchemeFacilitator,
  { caller, payload, requirements }: StoredPayment
): Effect.Effect<Payment, PaymentError | ValidationError> =>
  Effect.map(
    Effect.catch(scheme.read(requirements, payload), (refusal) => recalled(scheme, requirements, payload, refusal)),
    (payment): Payment => ({ ...payment, caller })
  )

const recalled = (
  scheme: SchemeFacilitator,
  requirements: PaymentRequirements,
  payload: Schema.Json,
  refusal: PaymentError | ValidationError
): Effect.Effect<Payment, PaymentError | ValidationError> =>
  scheme.recall === undefined
    ? Effect.fail(refusal)
    : Effect.mapBoth(scheme.recall(requirements, payload), {
        onFailure: () => refusal,
        onSuccess: (payment): Payment => ({ ...payment, recalled: true })
      })

/**
 * Reads a transaction on record. Payments that the scheme can no longer read stay in it: the bytes are sent for them too, and the
 * others have their ends.
 */
export const ofTransaction = Effect.fnUntraced(function* (
  scheme: SchemeFacilitator,
  onRecord: LaneTransaction,
  now: number
): Effect.fn.Return<TrackedTransaction> {
  const { attempts, inclusion, lane, number } = onRecord
  const payments: Array<BatchedPayment> = []
  const unreadable: Array<StoredPayment> = []
  for (const stored of onRecord.payments) {
    const payment = yield* Effect.result(ofRecord(scheme, stored))
    if (payment._tag === "Success") payments.push({ stored, payment: payment.success, concluded: false })
    else {
      unreadable.push(stored)
      const message = `${stored.paymentId} in the transaction ${number} of ${lane} cannot be read; its end stays open until it can`
      yield* Effect.logError(message, payment.failure)
    }
  }
  const earlier = payments.filter(({ payment }) => payment.recalled === true).length
  if (earlier > 0) {
    yield* Effect.logWarning(
      `today's settings do not settle ${earlier} payments in the transaction ${number} of ${lane}; they are watched to their ends`
    )
  }
  return {
    number,
    attempts,
    payments,
    unreadable,
    inclusion,
    displacedAt: undefined,
    cancelled: false,
    unrecorded: false,
    begunAt: now,
    doubtful: false
  }
})

/**
 * Fails for a payment that only earlier settings would accept: it is not sent. That is the operator's choice, not a verdict about the
 * payment.
 */
export const demandCurrent = ({ authorization: { asset }, recalled, requirements: { network } }: Payment) =>
  recalled === true
    ? Effect.fail(
        new FacilitatorUnavailable({
          message: `this payment in ${asset} on ${network} was taken under earlier settings; today's do not settle it, and nothing was sent`
        })
      )
    : Effect.void
