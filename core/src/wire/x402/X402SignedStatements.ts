/**
 * Signed offers and receipts in the messages of x402, of both versions: the extension `offer-receipt` of x402 (its specification,
 * extensions/extension-offer-and-receipt), and Pontage's own receipt as an extension beside it.
 */
import type * as Schema from "effect/Schema"

import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import type { SignedReceipts } from "../pontage/Dialect.ts"
import { extensionKey } from "../pontage/PurchaseReceipt.ts"
import type { SignedOffer } from "../pontage/SignedOffer.ts"
import * as X402Offer from "./X402Offer.ts"

const key = "offer-receipt"

/**
 * Limit on the signed offers of a payment request, in characters of JSON: payers repeat extensions, and the header of a payment is
 * limited. Further ones are left out.
 */
export const maximumOffersLength = 2400

/** The signed offers of those that x402's payers are shown, each with its place among these. */
export const shownOf = (
  accepts: ReadonlyArray<PaymentRequirements>,
  offers: ReadonlyArray<SignedOffer> = []
): ReadonlyArray<SignedOffer> => {
  const left = accepts.flatMap((one, index) => (X402Offer.isPayable(one) ? [] : [index]))
  return offers.flatMap((offer) => {
    const { acceptIndex: place } = offer
    if (place === undefined) return [offer]
    return left.includes(place) ? [] : [{ ...offer, acceptIndex: place - left.filter((one) => one < place).length }]
  })
}

/** The extension with a payment request's signed offers; none without one. */
export const offered = (offers: ReadonlyArray<SignedOffer> = []): Readonly<Record<string, Schema.Json>> => {
  let left = maximumOffersLength
  const fitting = offers.filter((offer) => {
    left -= JSON.stringify(offer).length
    return left >= 0
  })
  return fitting.length === 0 ? {} : { [key]: { info: { offers: fitting.map(asJson) }, schema } }
}

/** The schema that x402 asks of each extension. */
const schema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: { offers: { type: "array" } },
  required: ["offers"]
} as const

const asJson = ({ acceptIndex, format, payload, signature }: SignedOffer): Schema.JsonObject => ({
  format,
  ...(acceptIndex !== undefined && { acceptIndex }),
  payload: { ...payload },
  signature
})

/** The extensions of a paid response; none without a signed receipt. */
export const inReceipt = ({ brief, purchase }: SignedReceipts = {}) =>
  purchase === undefined && brief === undefined
    ? {}
    : {
        extensions: {
          ...(brief && { [key]: { info: { receipt: brief } } }),
          ...(purchase && { [extensionKey]: { info: { receipt: purchase } } })
        }
      }
