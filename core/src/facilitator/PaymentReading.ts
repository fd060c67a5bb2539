/**
 * Reading a payment: its payload opened, and what was signed in the words all schemes share. It is done once for a request,
 * whoever asks for it first: who limits payers by what they say of themselves, and the desk that takes the payment in.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import { openPayload } from "../protocol/PaymentPayload.ts"
import { invalid } from "../protocol/ValidationError.ts"
import type { Payment, SchemeFacilitator } from "../scheme/SchemeFacilitator.ts"
import type { PaymentRequest } from "./Facilitator.ts"

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

/** As long as the request is held. Requests never change, and what is read is of the request alone. */
const known = new WeakMap<PaymentRequest, PaymentReading>()

/**
 * Reads a payment by the half of its scheme and network. A request that was read before by the same half is not read again.
 *
 * @category constructors
 */
export const read = Effect.fnUntraced(function* (half: SchemeFacilitator, request: PaymentRequest) {
  const before = known.get(request)
  if (before?.half === half) return before
  const json = yield* Effect.fromResult(openPayload(request.paymentPayload))
  const payload = yield* Effect.mapError(Effect.fromResult(decodeJson(json)), () =>
    invalid("malformed", "payload_json", "the payload is no JSON value")
  )
  const payment = yield* half.read({ ...request.paymentRequirements, network: half.network }, payload)
  const reading: PaymentReading = { half, payment, payload }
  known.set(request, reading)
  return reading
})
