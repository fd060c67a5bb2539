/**
 * The seller's dialect of x402 version 2 over MCP: `_meta` replaces the headers of HTTP, and a refusal is a tool result
 * that holds the payment request. For the gate a key of `_meta` is a header whose text is the value's JSON.
 */
import * as Result from "effect/Result"

import type { PaymentRequired } from "../../protocol/PaymentRequired.ts"
import type { Settlement } from "../../protocol/Settlement.ts"
import * as Shape from "../../protocol/Shape.ts"
import { depthOf } from "../../protocol/text/JsonDepth.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import { maximumHeaderBytes } from "../http/AsciiJson.ts"
import { maximumDepth } from "../http/Base64Json.ts"
import type { HeaderFields, OfferTerms, ReadHeader, SellerDialect, SettleOrder } from "../pontage/Dialect.ts"
import { paymentKey, receiptKey, textOf } from "./X402Meta.ts"
import * as X402Offer from "./X402Offer.ts"
import { fromJson, receiptOf, requestOf } from "./X402v2Seller.ts"

const malformed = (detail: string, what: string) =>
  Result.fail(invalid("malformed", detail, `_meta["${paymentKey}"] ${what}; expected one JSON object`))

const decode = (text: string): Result.Result<unknown, ValidationError> => {
  if (text.length > maximumHeaderBytes) return malformed("too_long", `is longer than ${maximumHeaderBytes} bytes`)
  if (depthOf(text) > maximumDepth) return malformed("too_deep", `is nested deeper than ${maximumDepth}`)
  try {
    const value: unknown = JSON.parse(text)
    return Result.succeed(value)
  } catch {
    return malformed("not_json", "is not JSON")
  }
}

/**
 * The payment request, and if a payment was refused, Pontage's own fields with the reason. A payer that knows only the
 * request can pay.
 */
const bodyOf = (
  required: PaymentRequired,
  order: SettleOrder | undefined,
  retryToken: string,
  offers: OfferTerms | undefined
) => {
  const { accepts: _, error: message, ...words } = required
  const request = requestOf(required, order, retryToken, { ...offers, call: undefined }) ?? {
    x402Version: 2,
    error: message,
    accepts: []
  }
  return Object.keys(words).length === 0 ? request : { ...request, ...words, message }
}

/** The dialect. */
export const metaSeller: SellerDialect = {
  name: "x402 version 2 over MCP",
  paymentHeader: paymentKey,
  exposed: [],
  offersInBody: true,
  canOffer: (_scheme, _network, extra = {}) => X402Offer.isPayable({ extra }),
  recognises: () => true,
  readPayment: (text) => Result.flatMap(decode(text), fromJson),
  refusal: (required, order, offers) => ({
    headers: {},
    body: undefined,
    personal: (retryToken) => ({ body: bodyOf(required, order, retryToken, offers) })
  }),
  carriesBriefReceipts: true,
  receiptHeaders: (settlement, { receipts }) => ({ [receiptKey]: JSON.stringify(receiptOf(settlement, receipts)) })
}

/** Reads a request's `_meta` as the gate reads headers. Only the keys of payments count. */
export const headersIn =
  (meta: object | undefined, keys: ReadonlyArray<string> = [paymentKey]): ReadHeader =>
  (name) =>
    keys.includes(name) && meta !== undefined && Object.hasOwn(meta, name)
      ? (textOf(Reflect.get(meta, name)) ?? "")
      : undefined

/**
 * A receipt in the form of a result's `_meta`, with the signed receipts of the gate's headers. HTTP has a status for an error that is
 * the product; here `isServed` says so.
 */
export const receiptMeta = (
  settlement: Settlement,
  isServed = false,
  headers: HeaderFields = {}
): Readonly<Record<string, unknown>> => {
  const written: unknown = JSON.parse(headers[receiptKey] ?? "{}")
  const extensions = Shape.isObject(written) ? written["extensions"] : undefined
  return {
    [receiptKey]: {
      ...receiptOf(settlement),
      ...(isServed && { served: true }),
      ...(extensions !== undefined && { extensions })
    }
  }
}
