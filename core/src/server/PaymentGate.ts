/**
 * The seller's decision, without a framework: given a priced route and the facts of a request, run the handler or send
 * this answer. Host adapters ask it and translate; the protocol is nowhere else.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

import type { Misconfigured } from "../protocol/ProtocolError.ts"
import type { Decision, GateRequest } from "./Decision.ts"
import type { PricedRoute } from "./PricedRoute.ts"
import type { RouteConfig } from "./RouteConfig.ts"

/**
 * The service.
 *
 * @category services
 */
export class PaymentGate extends Context.Service<
  PaymentGate,
  {
    /** Checks a route's configuration, and starts proving it against its chains. `name` appears in error messages. */
    readonly route: (name: string, config: RouteConfig) => Effect.Effect<PricedRoute, Misconfigured>
    /** Never fails; whatever cannot be decided is `Refused`. An `Exit` when nothing had to be waited for. */
    readonly decide: (route: PricedRoute, request: GateRequest) => Effect.Effect<Decision>
    /** Completes when every route has been proven; fails with the first wiring mistake found on the way. */
    readonly ready: Effect.Effect<void, Misconfigured>
  }
>()("@pontage/core/PaymentGate") {}
