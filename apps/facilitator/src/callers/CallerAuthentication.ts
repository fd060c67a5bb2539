/**
 * Who is calling. Without keys every caller may; with keys a caller proves one by `Authorization: Bearer <key>`. A key is
 * compared with all there are, by digests and in constant time, and its caller is held to its limits before anything of the
 * request is read.
 */
import { type Caller, CurrentCaller, FacilitatorSchemeRegistry, type SchemeFacilitator } from "@pontage/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as HttpApiSecurity from "effect/http-api/HttpApiSecurity"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

import { type TooManyRequests, TooManyRequestsResponse, Unauthenticated } from "../http/FacilitatorFault.ts"
import * as RequestOrigin from "../http/RequestOrigin.ts"
import * as ApiKey from "./ApiKey.ts"
import { type CallerTerms, isRegistered, type RateTerms } from "./CallerTerms.ts"
import * as RateLimiter from "./RateLimiter.ts"
import * as RequestingCaller from "./RequestingCaller.ts"

/** Who may call. Without any callers everybody may, and is the same caller, limited by the address it calls from. */
export interface Options {
  readonly callers: ReadonlyArray<CallerTerms>
  /** How often one address may ask without a key, or with a key nobody was given; without it, as often as it likes. */
  readonly anonymousRates: RateTerms | undefined
}

/** Finds the caller. */
export class CallerAuthentication extends HttpApiMiddleware.Service<
  CallerAuthentication,
  { provides: RequestingCaller.RequestingCaller }
>()("@pontage/facilitator/CallerAuthentication", {
  error: [Unauthenticated, TooManyRequestsResponse],
  security: { apiKey: HttpApiSecurity.bearer }
}) {
  /** Authentication by these callers' keys. */
  static readonly layer = (options: Options) =>
    Layer.effect(
      CallerAuthentication,
      Effect.map(FacilitatorSchemeRegistry.FacilitatorSchemeRegistry, ({ schemes }) => {
        const { anonymous, register } = makeRegister(options, schemes)
        const find = (credential: string): Effect.Effect<Recognised, Stopped, HttpServerRequest.HttpServerRequest> => {
          const known = register.length === 0 ? undefined : findByKey(register, credential)
          if (known !== undefined) return Effect.succeed(known)
          const stranger = Effect.map(HttpServerRequest.HttpServerRequest, anonymous)
          return register.length === 0 ? stranger : Effect.flatMap(stranger, turnAway)
        }
        return CallerAuthentication.of({
          apiKey: (httpEffect, { credential, endpoint }) => {
            const errand = errandOf(endpoint.identifier)
            return Effect.flatMap(find(Redacted.value(credential)), ({ asking, current }) =>
              Effect.andThen(
                asking.limits.admit(errand),
                Effect.updateContext(httpEffect, (context: Context.Context<never>) =>
                  context.pipe(
                    Context.add(RequestingCaller.RequestingCaller, asking),
                    Context.add(CurrentCaller, current)
                  )
                )
              )
            )
          }
        })
      })
    )
}

type Stopped = Unauthenticated | TooManyRequests

/** Who shows a key that nobody was given pays for it as for a payment. */
const turnAway = ({ asking }: Recognised): Effect.Effect<never, Stopped> =>
  Effect.andThen(asking.limits.admit("payments"), Effect.fail(new Unauthenticated({ message: unauthenticated })))

const unauthenticated = "This facilitator asks for an API key: send Authorization: Bearer <key>."

/** A caller as this service and as the facilitator behind it know it. */
interface Recognised {
  readonly asking: RequestingCaller.RequestingCaller["Service"]
  readonly current: Caller
}

interface Registered extends Recognised {
  readonly keys: CallerTerms["keys"]
}

const makeRegister = ({ anonymousRates, callers }: Options, schemes: ReadonlyArray<SchemeFacilitator>) => {
  const limiters = RequestingCaller.makeLimiters(Math.max(RateLimiter.defaultCapacity, callers.length * 4))
  const strangers = RequestingCaller.makeLimiters()
  return {
    register: callers.map((terms): Registered => {
      const { keys, name, operator = false, rates, registrations, webhook } = terms
      return {
        keys,
        current: { name, notify: webhook !== undefined, ...(operator && { seesAll: true }) },
        asking: {
          mayHavePaid: (requirements) => isRegistered(registrations, schemes, requirements),
          limits:
            rates === undefined
              ? RequestingCaller.unlimited
              : RequestingCaller.limitsOf(limiters, `caller ${name}`, rates)
        }
      }
    }),
    anonymous:
      anonymousRates === undefined
        ? () => unlimitedStranger
        : RequestOrigin.perConnection((address) =>
            anybody(RequestingCaller.limitsOf(strangers, `address ${address}`, anonymousRates))
          )
  }
}

const always = () => true

/** The caller of the empty name: payments of callers who had a name are not everybody's because there are no keys now. */
const anybody = (limits: RequestingCaller.CallerLimits): Recognised => ({
  current: { name: "", notify: false },
  asking: { mayHavePaid: always, limits }
})

const unlimitedStranger = anybody(RequestingCaller.unlimited)

/** All keys are compared, whichever fits. */
const findByKey = (register: ReadonlyArray<Registered>, credential: string): Recognised | undefined => {
  const shown = ApiKey.digestOf(credential)
  let found: Recognised | undefined
  for (const known of register) for (const key of known.keys) if (ApiKey.isSame(key, shown)) found = known
  return found
}

const errandOf = (endpoint: string): RequestingCaller.RequestKind => {
  if (endpoint === "finish" || endpoint === "finishSeveral") return "runs"
  return endpoint === "payment" || endpoint === "payments" ? "records" : "payments"
}
