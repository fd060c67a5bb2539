/**
 * Responses without a verdict: each a class with its HTTP status, in the shape of the wire's `Fault`. A fault tells the caller
 * what to do; the log has the cause.
 */
import { FacilitatorApi, ValidationReason } from "@pontage/core"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as Schema from "effect/Schema"

/**
 * 400: the endpoint does not take such a request. A payment that is malformed for its scheme is a verdict instead.
 */
export class Malformed extends Schema.Error<Malformed>("@pontage/facilitator/Malformed")(
  { error: Schema.tag("malformed"), message: Schema.String },
  { httpApiStatus: 400, description: "This endpoint does not take such a request" }
) {}

/** 401: no API key, or an unknown one. */
export class Unauthenticated extends Schema.Error<Unauthenticated>("@pontage/facilitator/Unauthenticated")(
  { error: Schema.tag("unauthenticated"), message: Schema.String },
  { httpApiStatus: 401, description: "No API key, or an unknown one" }
) {}

/** 403: the payee or the asset is not registered for the caller. */
export class Forbidden extends Schema.Error<Forbidden>("@pontage/facilitator/Forbidden")(
  { error: Schema.tag("forbidden"), message: Schema.String },
  { httpApiStatus: 403, description: "The payee or the asset is not registered for this caller" }
) {}

/** 404: the payment is unknown, or another caller's. */
export class UnknownPayment extends Schema.Error<UnknownPayment>("@pontage/facilitator/UnknownPayment")(
  {
    error: Schema.tag(FacilitatorApi.unknownPayment),
    message: Schema.String,
    reason: Schema.optionalKey(ValidationReason),
    detail: Schema.optionalKey(Schema.String)
  },
  { httpApiStatus: 404, description: "The payment is unknown here" }
) {}

/** 404: the service has no list of resources. */
export class NoDiscovery extends Schema.Error<NoDiscovery>("@pontage/facilitator/NoDiscovery")(
  { error: Schema.tag("unknown_endpoint"), message: Schema.String },
  { httpApiStatus: 404, description: "This facilitator lists no resources" }
) {}

/** 409: the execution's state forbids this end. */
export class FinishRefused extends Schema.Error<FinishRefused>("@pontage/facilitator/FinishRefused")(
  { error: Schema.tag("finish_refused"), message: Schema.String, reason: ValidationReason, detail: Schema.String },
  { httpApiStatus: 409, description: "The execution's state forbids this end" }
) {}

/** 413: the body is longer than the service reads. */
export class TooLarge extends Schema.Error<TooLarge>("@pontage/facilitator/TooLarge")(
  { error: Schema.tag("too_large"), message: Schema.String },
  { httpApiStatus: 413, description: "The body is longer than 64 KiB" }
) {}

/** 415: the body is not declared as JSON. A web page can send any other type without a CORS preflight. */
export class NotJson extends Schema.Error<NotJson>("@pontage/facilitator/NotJson")(
  { error: Schema.tag("not_json"), message: Schema.String },
  { httpApiStatus: 415, description: "The body is not declared as application/json" }
) {}

/** 429: over a limit. `retryAfter` is in seconds. */
export class TooManyRequests extends Schema.Error<TooManyRequests>("@pontage/facilitator/TooManyRequests")({
  error: Schema.tag("too_many_requests"),
  message: Schema.String,
  retryAfter: Schema.Int
}) {}

/** 429 on the wire, with `Retry-After`. */
export const TooManyRequestsResponse = TooManyRequests.pipe(
  HttpApiSchema.encodeToWithHeaders(
    {
      body: Schema.Struct({ error: Schema.tag("too_many_requests"), message: Schema.String }).annotate({
        httpApiStatus: 429,
        description: "Over the caller's or the payer's limit; retry after Retry-After seconds"
      }),
      headers: { "retry-after": Schema.Int }
    },
    {
      decode: ({ body: { message }, headers }) => new TooManyRequests({ message, retryAfter: headers["retry-after"] }),
      encode: ({ message, retryAfter }) => ({
        body: { error: "too_many_requests" as const, message },
        headers: { "retry-after": retryAfter }
      })
    }
  )
)

/** 500: a defect of the service. */
export class Defect extends Schema.Error<Defect>("@pontage/facilitator/Defect")(
  { error: Schema.tag("defect"), message: Schema.String },
  { httpApiStatus: 500, description: "A defect of the service; its log has the cause" }
) {}

/** 503: no outcome is known now. The same request may be sent again after `retryAfter` seconds. */
export class TemporarilyUnavailable extends Schema.Error<TemporarilyUnavailable>(
  "@pontage/facilitator/TemporarilyUnavailable"
)(
  {
    error: Schema.Literals(["chain_unavailable", "facilitator_unavailable", "misconfigured", "settlement_pending"]),
    message: Schema.String,
    retryAfter: Schema.Int
  },
  { httpApiStatus: 503, description: "No outcome is known now; send the same request again" }
) {}

/** 503 on the wire, with `Retry-After`. */
export const TemporarilyUnavailableResponse = TemporarilyUnavailable.pipe(
  HttpApiSchema.encodeToWithHeaders(
    {
      body: Schema.Struct({
        error: TemporarilyUnavailable.fields.error,
        message: Schema.String,
        retryAfter: Schema.Int
      }).annotate({
        httpApiStatus: 503,
        description: "No outcome is known now; send the same request again after Retry-After seconds"
      }),
      headers: { "retry-after": Schema.Int }
    },
    {
      decode: ({ body }) => new TemporarilyUnavailable(body),
      encode: ({ error, message, retryAfter }) => ({
        body: { error, message, retryAfter },
        headers: { "retry-after": retryAfter }
      })
    }
  )
)

const writeFault = Schema.encodeSync(Schema.Union([UnknownPayment, FinishRefused, TemporarilyUnavailable, Defect]))
const writeDrawFault = Schema.encodeSync(Schema.Union([Forbidden, TooManyRequests, TemporarilyUnavailable, Defect]))

/** A failed draw among several, with the status and the body that it has alone. */
export const drawResponseOf = (fault: Forbidden | TooManyRequests | TemporarilyUnavailable | Defect) => {
  const body = writeDrawFault(fault)
  switch (body.error) {
    case "forbidden":
      return { status: 403, body } as const
    case "too_many_requests":
      return { status: 429, body } as const
    case "defect":
      return { status: 500, body } as const
    case "chain_unavailable":
    case "facilitator_unavailable":
    case "misconfigured":
    case "settlement_pending":
      return { status: 503, body } as const
  }
}

/** A failed `finish` among several, with the status and the body that it has alone. */
export const responseOf = (fault: UnknownPayment | FinishRefused | TemporarilyUnavailable | Defect) => {
  const body = writeFault(fault)
  switch (body.error) {
    case FacilitatorApi.unknownPayment:
      return { status: 404, body } as const
    case "finish_refused":
      return { status: 409, body } as const
    case "defect":
      return { status: 500, body } as const
    case "chain_unavailable":
    case "facilitator_unavailable":
    case "misconfigured":
    case "settlement_pending":
      return { status: 503, body } as const
  }
}
