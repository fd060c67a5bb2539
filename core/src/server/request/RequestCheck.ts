/**
 * The seller's own check of a request before any price or payment (`validate`): a request that would be refused after
 * the payment is refused before it, so that no buyer signs for it.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import type { GateRequest } from "../http/Decision.ts"
import * as GateResponse from "../http/GateResponse.ts"
import type { PricedRoute } from "../route/PricedRoute.ts"
import type { Validate } from "../route/RouteConfig.ts"
import * as RouteHook from "../route/RouteHook.ts"

/** Statuses of a refusal; 402 belongs to the gate. */
const status = Schema.Int.check(
  Schema.isBetween({ minimum: 400, maximum: 499 }),
  Schema.makeFilter((value) => value !== 402)
)

const RefusalOfRequest = Schema.Union([
  Schema.Struct({ status, message: Schema.optional(Schema.String) }),
  Schema.Struct({ status, body: Schema.Json })
])

const decode = Schema.decodeUnknownResult(RefusalOfRequest, { onExcessProperty: "error" })

const expected = "undefined, or { status: 400 to 499 without 402 } with a `message` or a JSON `body`"

/**
 * The response to a request that `validate` refuses; `undefined` if it has no objection. Fails if it throws, returns
 * something else, or takes longer than the route allows.
 */
export const ask = (
  route: PricedRoute,
  request: GateRequest,
  validate: Validate
): Effect.Effect<GateResponse.GateResponse | undefined, RouteHook.HookFailed> =>
  Effect.flatMap(RouteHook.ask("validate", route, request, validate), (returned) => {
    if (returned === undefined) return Effect.undefined
    const refusal = decode(returned)
    if (Result.isSuccess(refusal)) return Effect.succeed(responseOf(refusal.success))
    const message = `validate returned ${RouteHook.kindOf(returned)}; expected ${expected}`
    return Effect.fail(new RouteHook.HookFailed({ message }))
  })

const responseOf = (refusal: typeof RefusalOfRequest.Type): GateResponse.GateResponse =>
  GateResponse.plain(
    refusal.status,
    "body" in refusal ? refusal.body : { error: refusal.message ?? "This request was refused. Nothing was charged." }
  )
