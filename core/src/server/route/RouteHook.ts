/**
 * Calls a function of the seller about a request, `getPrice` or `validate`: each of its mistakes becomes an error with
 * a message for the operator, and its time is limited.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

import type { GateRequest } from "../http/Decision.ts"
import * as RequestTarget from "../http/RequestTarget.ts"
import type { PricedRoute } from "./PricedRoute.ts"
import type { PriceRequest } from "./RouteConfig.ts"

/** The function threw or did not return in time. */
export class HookFailed extends Data.TaggedError("HookFailed")<{ readonly message: string }> {}

/** Calls the function; the caller checks the returned value. */
export const ask = (
  name: string,
  { priceTimeoutMillis }: Pick<PricedRoute, "priceTimeoutMillis">,
  request: GateRequest,
  hook: (request: PriceRequest) => unknown
): Effect.Effect<unknown, HookFailed> =>
  Effect.tryPromise({
    try: async (): Promise<unknown> => hook(seen(request)),
    catch: (error) => new HookFailed({ message: `${name} failed: ${messageOf(error)}` })
  }).pipe(
    Effect.timeoutOrElse({
      duration: priceTimeoutMillis,
      orElse: () =>
        Effect.fail(
          new HookFailed({ message: `${name} did not return within ${priceTimeoutMillis} ms (priceTimeoutMillis)` })
        )
    })
  )

/** The message of a thrown value; `String` itself fails for an object without a prototype. */
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : `threw ${kindOf(error)}`)

/** The kind of a value, for messages. */
export const kindOf = (value: unknown): string => (value === null ? "null" : `a value of type ${typeof value}`)

const seen = ({ body, headers, method, native, params, query, target }: GateRequest): PriceRequest => ({
  method,
  path: RequestTarget.pathOf(target),
  params,
  query,
  headers,
  body,
  native
})
