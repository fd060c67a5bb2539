/**
 * How a request that could not be answered is told to the operator: callers ask again and again while a chain is down, and
 * one line a minute says as much as thousands.
 */
import type { RepeatedWarning } from "@pontage/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** The warnings of the service; where nothing is provided each is logged. */
export const RequestWarning: Context.Reference<RepeatedWarning.RepeatedWarning> =
  Context.Reference<RepeatedWarning.RepeatedWarning>("@pontage/facilitator/RequestWarning", {
    defaultValue: () => (_kind, message) => Effect.logWarning(message)
  })
