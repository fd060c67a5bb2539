/**
 * The terms of a request, found before its payment is read: that the seller accepts the request, its price, and, if
 * payments are bound to it, the digest of its body. No payment is touched.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

import type { HashFunctions } from "../../platform/Hash.ts"
import * as Refusal from "../../wire/pontage/Refusal.ts"
import * as BoundBody from "../http/BoundBody.ts"
import type { GateRequest } from "../http/Decision.ts"
import * as GateResponse from "../http/GateResponse.ts"
import type { PricedRoute } from "../route/PricedRoute.ts"
import type { PriceResolver } from "../shop/PriceResolver.ts"
import * as RequestCheck from "./RequestCheck.ts"
import * as RequestPrice from "./RequestPrice.ts"

/** The terms of one request. `amounts` are in the order of the route's options. */
export interface RequestTerms {
  readonly amounts: ReadonlyArray<bigint>
  readonly bodyDigest: string | undefined
  /** The response, where no payment can be bound to the body. A page for people may take the place of its text. */
  readonly unbound?: GateResponse.GateResponse
}

/** The request is not sold: `response` is sent instead. */
export class NotSold extends Data.TaggedError("NotSold")<{ readonly response: GateResponse.GateResponse }> {}

/** The seller's configuration or code is at fault. `message` is for the operator. */
export class NotDecided extends Data.TaggedError("NotDecided")<{
  readonly refusal: Refusal.Refusal
  readonly message: string
}> {}

/** Finds the terms. The body is not read if no payment for this request will come (`isHopeless`). */
export const find = Effect.fnUntraced(function* (
  { hash, prices }: { readonly prices: PriceResolver["Service"]; readonly hash: HashFunctions },
  route: PricedRoute,
  request: GateRequest,
  isHopeless: boolean
): Effect.fn.Return<RequestTerms, NotSold | NotDecided> {
  const { bind, price, validate } = route
  if (validate !== undefined) {
    const no = yield* Effect.mapError(RequestCheck.ask(route, request, validate), (error) =>
      undecided(Refusal.unchecked, error)
    )
    if (no !== undefined) return yield* new NotSold({ response: no })
  }
  const amounts =
    typeof price === "function"
      ? yield* Effect.mapError(RequestPrice.ask(prices, route, request, price), (error) =>
          undecided(Refusal.unpriced, error)
        )
      : price
  if (bind === "none" || amounts[0] === 0n) return { amounts, bodyDigest: request.bodyDigest }
  const unbound = { amounts, bodyDigest: undefined }
  if (isHopeless) return { ...unbound, unbound: unpaid(route, request) }
  return yield* BoundBody.digest(hash, request).pipe(
    Effect.map((bodyDigest) => ({ amounts, bodyDigest })),
    Effect.catchTags({
      BodyTooLong: ({ maximumBytes }) =>
        Effect.succeed({ ...unbound, unbound: GateResponse.plain(413, { error: tooLong(maximumBytes) }) }),
      BodyUnavailable: (error) => Effect.fail(undecided(Refusal.unbindable, error)),
      BodyLost: ({ message }) => Effect.fail(new NotSold({ response: GateResponse.plain(400, { error: message }) }))
    })
  )
})

/** A 402 without offers: a payment without the body's digest would be refused. */
const unpaid = ({ dialects, settle: order }: PricedRoute, { header }: GateRequest): GateResponse.GateResponse =>
  GateResponse.refused({ dialects, order, crossOrigin: header("origin") !== undefined }, Refusal.unpaid)

const undecided = (refusal: Refusal.Refusal, { message }: { readonly message: string }) =>
  new NotDecided({ refusal, message })

const tooLong = (maximumBytes: number): string =>
  `A payment for this resource is bound to the request's body, which may have at most ${maximumBytes} bytes. Nothing was charged.`
