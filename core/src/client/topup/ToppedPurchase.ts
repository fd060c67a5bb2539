/** A purchase after its top-up: the resource is requested again, because its offer may be minutes old by then. */
import * as Effect from "effect/Effect"

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
 * The options that a top-up was made for, which need no second one and no second question: the same asset on the same network at no
 * higher price. `undefined` if the shop offers none any more.
 */
export const agreedOn = ({ allowed, declined }: Judged, agreed: Quote): Judged | undefined => {
  const same = allowed.filter(
    ({ quote: { amount, asset } }) =>
      asset.network === agreed.asset.network && asset.address === agreed.asset.address && amount <= agreed.amount
  )
  return same.length === 0
    ? undefined
    : { allowed: same.map((one) => Object.assign({}, one, { topUp: { _tag: "Agreed" } as const })), declined }
}
