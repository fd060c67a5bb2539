/**
 * Reading a payment: its payload opened, and what was signed in the words all schemes share. It is done once for a request
 * by those who ask one after the other: who limits payers by what they say of themselves, and the desk that takes it in.
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
import type { StoredPayment } from "../store/PaymentStore.ts"

/** A payment as its scheme reads it, and the scheme's JSON. Nothing of it is believed yet. */
export interface PaymentReading {
  readonly scheme: SchemeFacilitator
  readonly payment: Payment
  readonly payload: Schema.Json
}

const decodeJson = Schema.decodeUnknownResult(Schema.Json)

/**
 * The reading before this one: who reads a request again does so at once. Requests never change, and what is read is of the
 * request alone. A `WeakMap` of all would have every reading outlive its request until the whole heap is collected.
 */
let last: { readonly request: PaymentRequest; readonly reading: PaymentReading } | undefined

/**
 * Reads a payment by the half of its scheme and network. The request that was read last, by the same half, is not read again.
 */
export const read = Effect.fnUntraced(function* (scheme: SchemeFacilitator, request: PaymentRequest) {
  if (last?.request === request && last.reading.scheme === scheme) return last.reading
  const json = yield* Effect.fromResult(openPayload(request.paymentPayload))
  const payload = yield* Effect.mapError(Effect.fromResult(decodeJson(json)), () =>
    invalid("malformed", "payload_json", "the payload is no JSON value")
  )
  const payment = yield* scheme.read({ ...request.paymentRequirements, network: scheme.network }, payload)
  const reading: PaymentReading = { scheme, payment, payload }
  last = { request, reading }
  return reading
})

/**
 * A reading of a payment that may be on record. `refusal` is why today's settings would not take it, were it new.
 */
export interface KnownReading extends PaymentReading {
  readonly refusal: PaymentError | ValidationError | undefined
}

/** Reads a payment that may be on record: one that was taken in under earlier settings is read as it was then. */
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
 * Reads a payment that is on record, on behalf of the caller whose it is, also where today's settings would not take it.
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
 * A payment that only earlier settings would take is sent by nobody: that is the operator's doing and no verdict about it.
 */
export const demandCurrent = ({ authorization: { asset }, recalled, requirements: { network } }: Payment) =>
  recalled === true
    ? Effect.fail(
        new FacilitatorUnavailable({
          message: `this payment in ${asset} on ${network} was taken under earlier settings; today's do not settle it, and nothing was sent`
        })
      )
    : Effect.void
