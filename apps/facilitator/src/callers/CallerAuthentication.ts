/**
 * Authentication of callers by `Authorization: Bearer <key>`; without keys in the settings everybody may call. A key is
 * compared with all keys by digests and in constant time, and the caller's rate is charged before the request's body is read.
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

/** Options of the authentication. Without callers everybody may call, as one caller, with limits for each address. */
export interface Options {
  readonly callers: ReadonlyArray<CallerTerms>
  /** Rate limits of one address without a key or with an unknown key; `undefined` for no limits. */
  readonly anonymousRates: RateTerms | undefined
}

/** Middleware that identifies the caller. */
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

/** Refuses an unknown key, and charges the address as for a payment. */
const turnAway = ({ asking }: Recognised): Effect.Effect<never, Stopped> =>
  Effect.andThen(asking.limits.admit("payments"), Effect.fail(new Unauthenticated({ message: unauthenticated })))

const unauthenticated = "This facilitator requires an API key: send Authorization: Bearer <key>."

/** A caller for this service and for the facilitator behind it. */
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
        current: {
          name,
          notify: webhook !== undefined,
          ...(operator && { seesAll: true }),
          ...(registrations && { mayDraw: drawRights(registrations, schemes) })
        },
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

/** Channels are drawn on for registered payees and assets alone, whichever request asks. */
const drawRights =
  (
    registrations: CallerTerms["registrations"],
    schemes: ReadonlyArray<SchemeFacilitator>
  ): NonNullable<Caller["mayDraw"]> =>
  (place) =>
    isRegistered(registrations, schemes, { ...place, maxAmountRequired: "0", resource: "" })

const always = () => true

/** The caller without a key has the empty name, so payments of named callers stay theirs when the keys are removed. */
const anybody = (limits: RequestingCaller.CallerLimits): Recognised => ({
  current: { name: "", notify: false },
  asking: { mayHavePaid: always, limits }
})

const unlimitedStranger = anybody(RequestingCaller.unlimited)

/** Compares all keys even after a match, so that the duration tells nothing. */
const findByKey = (register: ReadonlyArray<Registered>, credential: string): Recognised | undefined => {
  const shown = ApiKey.digestOf(credential)
  let found: Recognised | undefined
  for (const known of register) for (const key of known.keys) if (ApiKey.isSame(key, shown)) found = known
  return found
}

/** The requests about executions under way. */
const runs: ReadonlySet<string> = new Set(["finish", "finishSeveral", "window", "renew", "closed"])

const errandOf = (endpoint: string): RequestingCaller.RequestKind => {
  if (runs.has(endpoint)) return "runs"
  return endpoint === "payment" || endpoint === "payments" || endpoint === "standing" ? "records" : "payments"
}
