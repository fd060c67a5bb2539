/** A purchase after its top-up: the resource is requested again, because its offer may be minutes old by then. */
import * as Effect from "effect/Effect"

import { decline } from "../PaymentDeclined.ts"
import type { Judged, OpenTopUp, Quote } from "../PaymentPolicy.ts"
import type { NoResponse } from "../PurchaseResponse.ts"

/** The purchase that waits for a top-up. */
export interface ToppedPurchase<Demand, Failure> {
  readonly quote: Quote
  readonly topUp: OpenTopUp
  /** Sends the request once more, without a payment. */
  readonly request: Effect.Effect<Response, NoResponse>
  readonly demandOf: (response: Response) => Effect.Effect<Demand | undefined, Failure>
}

/** The resource, requested once more: its new demand, a response that is none, or neither where there was no response. */
export interface Renewed<Demand> {
  readonly demand?: Demand | undefined
  readonly response?: Response
  /** The quote that was confirmed with a top-up of the purchase's own, which has arrived. */
  readonly agreed?: Quote | undefined
}

/** Requests the resource once more. */
export const renewed = <Demand, Failure>(
  { demandOf, request }: ToppedPurchase<Demand, Failure>,
  agreed: Quote | undefined
): Effect.Effect<Renewed<Demand>, Failure> =>
  request.pipe(
    Effect.flatMap((response) =>
      Effect.map(demandOf(response), (demand): Renewed<Demand> =>
        demand === undefined ? { response } : { demand, agreed }
      )
    ),
    Effect.catchIf(
      (error): error is NoResponse => isNoResponse(error),
      () => Effect.succeed({ agreed })
    )
  )

const isNoResponse = (error: unknown): error is NoResponse =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "NoResponse"

/**
 * The options that a top-up was made for, which need no second one and no second question: the same asset on the same network for the
 * same payee by the same way, at no higher price. `undefined` if the shop offers none any more.
 */
export const agreedOn = ({ allowed, declined }: Judged, agreed: Quote): Judged | undefined => {
  const place = placeOf(agreed)
  const same = allowed.filter(({ quote }) => placeOf(quote) === place && quote.amount <= agreed.amount)
  return same.length === 0
    ? undefined
    : { allowed: same.map((one) => Object.assign({}, one, { topUp: { _tag: "Agreed" } as const })), declined }
}

/** All that a quote says of where the money goes. The payee of a route is behind its router. */
const placeOf = ({ asset, requirements: { extra, payTo, scheme } }: Quote): string => {
  const route: Readonly<Record<string, unknown>> = Object(extra?.["route"])
  return JSON.stringify([asset.network, asset.address, scheme, payTo, route["network"], route["payTo"]])
}

/**
 * The options after a top-up that was not made for them: none of them has another one made. A shop whose every answer needs money on
 * another network would have the payer pay fee after fee for one request.
 */
export const withoutAnother = ({ allowed, declined }: Judged): Judged => {
  const payable = allowed.filter(({ topUp }) => topUp?._tag !== "Wanted")
  return payable.length === allowed.length
    ? { allowed, declined }
    : { allowed: payable, declined: [...declined, another] }
}

const another = decline(
  "top_up_unavailable",
  "the top-up of this request has arrived, and the shop asks for something else now, which needs another one; nothing more was signed: repeat the request if the new offer is right"
)
