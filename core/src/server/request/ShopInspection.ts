/**
 * The shop's own look at a payment, before it asks its facilitator: a payment that does not pay this shop in a token it takes,
 * or that its payer has not signed, is refused here. A stranger can make up any number of them for nothing, and each would
 * otherwise be asked about in the shop's name.
 */
import * as Effect from "effect/Effect"

import type { Authorization } from "../../protocol/Authorization.ts"
import { type PaymentError, refuse } from "../../protocol/PaymentError.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import { isSameAddress } from "../../scheme/Scheme.ts"
import type * as OfferMatch from "../offer/OfferMatch.ts"

/**
 * Refuses what can be refused here. Whether it is time and whether the amount is the price is the facilitator's to say: a
 * payment on record answers after its validity and after the price has fallen, and of one that is too small for a dearer
 * request its payer has to hear that it was used. Returns what was signed, where the scheme tells the shop.
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
