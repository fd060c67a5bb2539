/**
 * Who may call. Without keys every caller may; with keys a caller proves one by `Authorization: Bearer <key>`, and a key may
 * be limited to the payees it settles for. Keys are compared by their digests, in constant time, all of them every time.
 */
import { createHash, timingSafeEqual } from "node:crypto"

import { FacilitatorSchemes, type PaymentRequirements } from "@pontage/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as HttpApiSecurity from "effect/http-api/HttpApiSecurity"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

import { Unauthenticated } from "./FacilitatorFault.ts"

/**
 * A key, and the addresses it may have paid; any address when they are left out.
 *
 * @category models
 */
export interface CallerKey {
  readonly key: Redacted.Redacted
  readonly payees?: ReadonlyArray<string>
}

type Requirements = PaymentRequirements.PaymentRequirements

/**
 * The caller of the request that is being answered.
 *
 * @category services
 */
export class Caller extends Context.Service<
  Caller,
  {
    /** Whether it may verify, claim and settle payments to this payee. */
    readonly mayHavePaid: (requirements: Requirements) => boolean
  }
>()("@pontage/facilitator/Caller") {}

/**
 * Finds the caller.
 *
 * @category middleware
 */
export class CallerAuthentication extends HttpApiMiddleware.Service<CallerAuthentication, { provides: Caller }>()(
  "@pontage/facilitator/CallerAuthentication",
  { error: Unauthenticated, security: { apiKey: HttpApiSecurity.bearer } }
) {
  /** Authentication by these keys. */
  static readonly layer = (keys: ReadonlyArray<CallerKey>) =>
    Layer.effect(
      CallerAuthentication,
      Effect.map(FacilitatorSchemes, (schemes) => {
        const callers = keys.map(({ key, payees }) => ({
          digest: digestOf(Redacted.value(key)),
          caller: Caller.of({ mayHavePaid: payees === undefined ? always : isAmong(payees, schemes) })
        }))
        const anyone = Caller.of({ mayHavePaid: always })
        return CallerAuthentication.of({
          apiKey: (httpEffect, { credential }) => {
            const caller = callers.length === 0 ? anyone : find(callers, Redacted.value(credential))
            return caller === undefined
              ? Effect.fail(new Unauthenticated({ message: unauthenticated }))
              : Effect.provideService(httpEffect, Caller, caller)
          }
        })
      })
    )
}

const unauthenticated = "This facilitator asks for an API key: send Authorization: Bearer <key>."

const always = () => true

interface Known {
  readonly digest: Buffer
  readonly caller: Caller["Service"]
}

const digestOf = (key: string): Buffer => createHash("sha256").update(key).digest()

const find = (callers: ReadonlyArray<Known>, credential: string): Caller["Service"] | undefined => {
  const digest = digestOf(credential)
  let found: Caller["Service"] | undefined
  for (const known of callers) if (timingSafeEqual(known.digest, digest)) found = known.caller
  return found
}

/** Addresses are compared as the family's scheme writes them, so that one address in two spellings is one payee. */
const isAmong =
  (payees: ReadonlyArray<string>, schemes: FacilitatorSchemes["Service"]) =>
  ({ network, payTo, scheme }: Requirements): boolean => {
    const half = schemes.find((one) => one.scheme.name === scheme && one.scheme.network(network) === one.network)
    const asked = half?.scheme.address(payTo)
    return asked !== undefined && payees.some((payee) => half?.scheme.address(payee) === asked)
  }
