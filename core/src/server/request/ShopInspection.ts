/**
 * The shop's own check of a payment before it reaches the facilitator: a payment that does not pay this shop in an
 * accepted token, or that its payer has not signed, is refused here. A stranger can invent any number of them for free,
 * and each would otherwise be sent in the shop's name.
 */
import * as Effect from "effect/Effect"

import type { Authorization } from "../../protocol/Authorization.ts"
import { type PaymentError, refuse } from "../../protocol/PaymentError.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import { isSameAddress } from "../../scheme/Scheme.ts"
import type * as OfferMatch from "../offer/OfferMatch.ts"

/**
 * Refuses every payment that can be refused here. The facilitator checks validity time and amount: a payment on record
 * is answered after its validity and after the price has fallen, and the payer of one that is too small for a dearer
 * request must learn that it was used. Returns the signed authorization if the scheme can read it here.
 */
export const inspect = ({
  option,
  payload,
  request
}: OfferMatch.MatchedOffer): Effect.Effect<Authorization | undefined, PaymentError | ValidationError> => {
  const { schemeServer } = option
  if (schemeServer.inspect === undefined) return Effect.undefined
  return Effect.tap(schemeServer.inspect(request.paymentRequirements, payload), (authorization) =>
    judge(option, authorization)
  )
}

const judge = (
  { asset, schemeServer: { scheme }, payTo }: OfferMatch.MatchedOffer["option"],
  signed: { readonly payTo: string; readonly asset: string }
): Effect.Effect<void, PaymentError | ValidationError> => {
  if (!isSameAddress(scheme, signed.payTo, payTo)) {
    const message = `the payment goes to ${signed.payTo}, the offer asks ${payTo}`
    return Effect.fail(refuse("INVALID_RECIPIENT", "other_recipient", message))
  }
  if (!isSameAddress(scheme, signed.asset, asset.address)) {
    const message = `the payment is in ${signed.asset}, the offer asks ${asset.address}`
    return Effect.fail(invalid("asset_mismatch", "other_asset", message))
  }
  return Effect.void
}
