/**
 * What becomes of a request that an endpoint does not take, or fails on: every way in which decoding or answering fails gets
 * a body that says so.
 */
import { RepeatedWarning } from "@pontage/core"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as HttpApiError from "effect/http-api/HttpApiError"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as Layer from "effect/Layer"
import type { unhandled } from "effect/Types"

import { Defect, Malformed, NotJson, TooLarge } from "./FacilitatorFault.ts"
import { misshapen } from "./RequestBody.ts"
import { RequestWarning } from "./RequestWarning.ts"

/** What stands around an endpoint and answers for its faults. */
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

/** What is told of a defect: the log gets it, the caller what to do. */
export const defective = (defect: unknown) =>
  Effect.andThen(
    Effect.logError("a request met a defect", Cause.die(defect)),
    Effect.fail(new Defect({ message: "The facilitator failed on this request. Nothing is decided: send it again." }))
  )
