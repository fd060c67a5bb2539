/**
 * Reading a payment: its payload opened, and what was signed in the words all schemes share. It is done once for a request
 * by those who ask one after the other: who limits payers by what they say of themselves, and the desk that takes it in.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import { openPayload } from "../protocol/PaymentPayload.ts"
import { invalid } from "../protocol/ValidationError.ts"
import type { Payment, SchemeFacilitator } from "../scheme/SchemeFacilitator.ts"
import type { PaymentRequest } from "./Facilitator.ts"
import type { StoredPayment } from "./records/PaymentStore.ts"

/**
 * A payment as its scheme reads it, and the scheme's JSON. Nothing of it is believed yet.
 *
 * @category models
 */
export interface PaymentReading {
  readonly half: SchemeFacilitator
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
 *
 * @category constructors
 */
export const read = Effect.fnUntraced(function* (half: SchemeFacilitator, request: PaymentRequest) {
  if (last?.request === request && last.reading.half === half) return last.reading
  const json = yield* Effect.fromResult(openPayload(request.paymentPayload))
  const payload = yield* Effect.mapError(Effect.fromResult(decodeJson(json)), () =>
    invalid("malformed", "payload_json", "the payload is no JSON value")
  )
  const payment = yield* half.read({ ...request.paymentRequirements, network: half.network }, payload)
  const reading: PaymentReading = { half, payment, payload }
  last = { request, reading }
  return reading
})

/**
 * Reads a payment that is on record, on behalf of the caller whose it is.
 *
 * @category constructors
 */
export const ofRecord = (half: SchemeFacilitator, { caller, payload, requirements }: StoredPayment) =>
  Effect.map(half.read(requirements, payload), (payment): Payment => ({ ...payment, caller }))
