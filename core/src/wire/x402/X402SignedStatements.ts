/**
 * Signed offers and receipts in the messages of x402, of both versions: the extension `offer-receipt` of x402 (its specification,
 * extensions/extension-offer-and-receipt), and Pontage's own receipt as an extension beside it.
 */
import type * as Schema from "effect/Schema"

import type { SignedReceipts } from "../pontage/Dialect.ts"
import { extensionKey } from "../pontage/PurchaseReceipt.ts"
import type { SignedOffer } from "../pontage/SignedOffer.ts"

const key = "offer-receipt"

/**
 * Limit on the signed offers of a payment request, in characters of JSON: payers repeat extensions, and the header of a payment is
 * limited. Further ones are left out.
 */
export const maximumOffersLength = 2400

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
