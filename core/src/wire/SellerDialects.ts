/**
 * The dialects of a route, together: a request is read by its payment header, and a response is written in all of them,
 * or in the dialect of the request.
 */
import * as Result from "effect/Result"

import type { PaymentError } from "../protocol/PaymentError.ts"
import type { PaymentRequired } from "../protocol/PaymentRequired.ts"
import { invalid, type ValidationError } from "../protocol/ValidationError.ts"
import type {
  HeaderFields,
  OfferTerms,
  PaidFacts,
  PresentedPayment,
  ReadHeader,
  RefusalMessage,
  SellerDialect,
  SettleOrder
} from "./pontage/Dialect.ts"
import { protocolSeller } from "./pontage/ProtocolSeller.ts"
import { x402v2Seller } from "./x402/X402v2Seller.ts"

/** The dialects of one route, prepared. The first one writes the body of a refusal in all of them. */
export interface SellerDialects {
  readonly dialects: ReadonlyArray<SellerDialect>
  /** The dialects by the header that carries their payments; dialects may share one. */
  readonly byHeader: ReadonlyMap<string, ReadonlyArray<SellerDialect>>
  /** The request headers that may carry a payment, as `Vary` lists them. */
  readonly paymentHeaders: string
  /** The response headers that pages of other origins need, as `Access-Control-Expose-Headers` lists them. */
  readonly exposed: string
}

/** A payment that a request carries, and the dialects of its response. */
export interface CarriedPayment {
  readonly dialects: SellerDialects
  readonly presented: Result.Result<PresentedPayment, PaymentError | ValidationError>
}

const byHeader = (dialects: ReadonlyArray<SellerDialect>): SellerDialects["byHeader"] => {
  const headers = new Map<string, Array<SellerDialect>>()
  for (const dialect of dialects) {
    const name = dialect.paymentHeader.toLowerCase()
    headers.set(name, [...(headers.get(name) ?? []), dialect])
  }
  return headers
}

const distinct = (names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const seen = new Map<string, string>()
  for (const name of names) if (!seen.has(name.toLowerCase())) seen.set(name.toLowerCase(), name)
  return [...seen.values()]
}

/** Combines dialects, in this order. */
export const make = (dialects: ReadonlyArray<SellerDialect>): SellerDialects => ({
  dialects,
  byHeader: byHeader(dialects),
  paymentHeaders: distinct(dialects.map(({ paymentHeader }) => paymentHeader)).join(", "),
  exposed: distinct([...dialects.flatMap(({ exposed }) => exposed), "Retry-After"]).join(", ")
})

/**
 * The first of these whose payers would never find an offer, because another one writes the body. Pontage's own may
 * leave it to other offers: its payer reads those of x402 as well.
 */
export const hidden = ([first, ...others]: ReadonlyArray<SellerDialect>): SellerDialect | undefined =>
  others.find((one) => one.offersInBody && (first?.offersInBody !== true || one !== protocolSeller))

/** The default dialects of a route: Pontage's own and x402 version 2. */
export const usual: SellerDialects = make([protocolSeller, x402v2Seller])

/**
 * The payment that a request carries; `undefined` without one. Headers of two dialects at once are refused: it is
 * unknown which of the payments is meant.
 */
export const readPayment = (dialects: SellerDialects, header: ReadHeader): CarriedPayment | undefined => {
  let found: CarriedPayment | undefined
  for (const [name, those] of dialects.byHeader) {
    const value = header(name)
    if (value === undefined || !mayPay(those, value)) continue
    if (found !== undefined) return { dialects, presented: Result.fail(mixed) }
    found = readBy(those, value)
  }
  return found
}

/** Whether the values of a header may be payments: those of a shared header only if one of its dialects recognises one. */
const mayPay = (dialects: ReadonlyArray<SellerDialect>, value: string | ReadonlyArray<string>): boolean =>
  dialects.some(({ sharesHeader }) => sharesHeader !== true) ||
  [value].flat().some((text) => dialects.some((one) => one.recognises(text)))

/** Reads a payment by the dialect that recognises it; the last one refuses a payment that none recognises. */
const readBy = (
  dialects: ReadonlyArray<SellerDialect>,
  value: string | ReadonlyArray<string>
): CarriedPayment | undefined => {
  const text = typeof value === "string" ? value : ""
  const dialect = dialects.find((one) => one.recognises(text)) ?? dialects.at(-1)
  if (dialect === undefined) return undefined
  const presented = typeof value === "string" ? dialect.readPayment(text) : Result.fail(repeated(dialect.paymentHeader))
  return { dialects: alone(dialect), presented }
}

const singles = new WeakMap<SellerDialect, SellerDialects>()

const alone = (dialect: SellerDialect): SellerDialects => {
  const known = singles.get(dialect)
  if (known !== undefined) return known
  const dialects = make([dialect])
  singles.set(dialect, dialects)
  return dialects
}

const mixed = invalid(
  "malformed",
  "mixed_dialects",
  "the request carries payments in the headers of two protocols; send exactly one of them"
)

const repeated = (name: string) =>
  invalid("malformed", "duplicate_header", `the ${name} header came more than once; send exactly one`)

/** A refusal in all the dialects. */
export const refusal = (
  { dialects }: SellerDialects,
  required: PaymentRequired,
  order?: SettleOrder,
  terms?: OfferTerms
): RefusalMessage => {
  const messages = dialects.map((dialect) => dialect.refusal(required, order, terms))
  const headers = Object.assign({}, ...messages.map((message) => message.headers))
  const [{ body, contentType } = {}] = messages
  const message = { headers, body, ...(contentType !== undefined && { contentType }) }
  if (messages.every(({ personal }) => personal === undefined)) return message
  return {
    ...message,
    personal: (retryToken, now) => {
      const own = messages.map(({ personal }) => personal?.(retryToken, now))
      return { headers: Object.assign({}, ...own.map((message) => message?.headers)), body: own[0]?.body }
    }
  }
}

/** The headers of a paid response, in all the dialects. */
export const receiptHeaders = (
  { dialects }: SellerDialects,
  settlement: Parameters<SellerDialect["receiptHeaders"]>[0],
  facts: PaidFacts
): HeaderFields => Object.assign({}, ...dialects.map((dialect) => dialect.receiptHeaders(settlement, facts)))
