/** Steps that the calls to a facilitator share: what is sent is encoded, and what comes back is decoded or unusable. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import { ValidationError } from "../../protocol/ValidationError.ts"
import * as FacilitatorApi from "../../wire/pontage/FacilitatorApi.ts"
import type { Call, Exchange, Reply } from "./FacilitatorExchange.ts"
import type * as FacilitatorResponse from "./FacilitatorResponse.ts"

const decodeFault = Schema.decodeUnknownResult(FacilitatorApi.Fault)

/** The body of a request. A value that does not fit is not sent. */
export const written = <A>(body: Result.Result<A, { readonly message: string }>) =>
  Effect.mapError(
    Effect.fromResult(body),
    ({ message }) => new FacilitatorUnavailable({ message: `no request was sent to the facilitator: ${message}` })
  )

/** The decoded body of a response with status 200; any other response is unusable. */
export const decoded = <A>(
  exchange: Exchange,
  call: Call,
  reply: Reply,
  decode: (json: unknown) => Result.Result<A, { readonly message: string }>
) => {
  if (reply.status !== 200 || reply.json === undefined) return Effect.fail(exchange.unusable(call, reply))
  const wrong = ({ message }: { readonly message: string }) =>
    exchange.unusable(call, reply, `has the wrong shape: ${message.slice(0, 300)}`)
  return Effect.mapError(Effect.fromResult(decode(reply.json)), wrong)
}

/** The meaning of a decoded response; nonsense is unusable. */
export const meaningOf = <A>(
  exchange: Exchange,
  call: Call,
  reply: Reply,
  response: Result.Result<A, PaymentFailure | FacilitatorResponse.Nonsense>
): Effect.Effect<A, PaymentFailure> =>
  Effect.mapError(Effect.fromResult(response), (failure) =>
    failure._tag === "Nonsense" ? exchange.unusable(call, reply, failure.why) : failure
  )

/**
 * Whether a 404 says that the payment is unknown; without this word it may come from a wrong address, and says nothing
 * about the payment.
 */
export const isUnknownPayment = ({ json }: Reply): boolean => {
  const fault = decodeFault(json)
  return Result.isSuccess(fault) && fault.success.error === FacilitatorApi.unknownPayment
}

/** The refusal in a fault; `undefined` if it is another one. */
export const refusalOf = ({ json }: Reply): ValidationError | undefined => {
  const fault = Result.getOrUndefined(decodeFault(json))
  if (fault?.reason === undefined) return undefined
  return new ValidationError({ reason: fault.reason, detail: fault.detail ?? fault.error, message: fault.message })
}
