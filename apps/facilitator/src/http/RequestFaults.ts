/**
 * Faults of requests that an endpoint rejects or fails on. Every failure of decoding or answering gets a body that names it.
 */
import { RepeatedWarning } from "@pontage/core"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpApiError from "effect/http-api/HttpApiError"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as Layer from "effect/Layer"
import type { unhandled } from "effect/Types"

import { Defect, Malformed, NotJson, TooLarge } from "./FacilitatorFault.ts"
import { misshapen } from "./RequestBody.ts"

/**
 * Logs failures of requests; the default logs each one. The service limits them to one line a minute, because callers
 * repeat their requests while a chain is down.
 */
export const RequestWarning: Context.Reference<RepeatedWarning.RepeatedWarning> =
  Context.Reference<RepeatedWarning.RepeatedWarning>("@pontage/facilitator/RequestWarning", {
    defaultValue: () => (_kind, message) => Effect.logWarning(message)
  })

/** Middleware of an endpoint that turns its faults into responses. */
export class RequestFaults extends HttpApiMiddleware.Service<RequestFaults>()("@pontage/facilitator/RequestFaults", {
  error: [Malformed, NotJson, TooLarge, Defect]
}) {
  static readonly layer = Layer.effect(
    RequestFaults,
    Effect.map(
      RepeatedWarning.make,
      (warn) => (httpEffect) =>
        httpEffect.pipe(
          Effect.catch((error): Effect.Effect<never, Malformed | Defect | unhandled> =>
            HttpApiError.HttpApiSchemaError.is(error) ? undecodable(error) : Effect.fail(error)
          ),
          Effect.catchDefect(defective),
          Effect.provideService(RequestWarning, warn)
        )
    )
  )
}

const undecodable = ({ cause, kind }: HttpApiError.HttpApiSchemaError): Effect.Effect<never, Malformed | Defect> =>
  kind === "Body" || kind === "ResponseHeaders" ? defective(cause) : Effect.fail(misshapen(cause))

/** Logs a defect and fails with the fault that tells the caller to repeat the request. */
export const defective = (defect: unknown) =>
  Effect.andThen(
    Effect.logError("a request failed by a defect", Cause.die(defect)),
    Effect.fail(new Defect({ message: "The facilitator failed on this request without a decision: send it again." }))
  )
