/**
 * The payer's dialect of x402 version 1. Only the body identifies its refusals, and a server of version 1 responds with every
 * failure with status 402.
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

import type { PaymentRequired } from "../../protocol/PaymentRequired.ts"
import type { Receipt } from "../../protocol/Settlement.ts"
import * as Shape from "../../protocol/Shape.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import * as Base64Json from "../http/Base64Json.ts"
import type { ResponseHead, HeaderFields, PayerDialect, ReadRefusal } from "../pontage/Dialect.ts"
import type { PurchaseReceipt } from "../pontage/PurchaseReceipt.ts"
import { inExtensions } from "../pontage/PurchaseReceiptShape.ts"
import * as X402Network from "./X402Network.ts"
import * as X402Offer from "./X402Offer.ts"
import { offerV1 } from "./X402OfferShape.ts"
import * as X402Refusal from "./X402Refusal.ts"

/** Maximum length of a receipt in bytes, more than any server sends: Node reads 16 KiB of headers in all. */
const maximumReceiptBytes = 64 * 1024

const isVersionOne = (body: unknown): boolean => Shape.isObject(body) && body["x402Version"] === 1

interface Body {
  readonly error?: string
  readonly accepts: ReadonlyArray<Schema.Json>
}

const bodyShape = /* @__PURE__ */ Shape.struct<Body>({
  error: /* @__PURE__ */ Shape.nullable(Shape.text),
  accepts: /* @__PURE__ */ Shape.list(Shape.json)
})

/** The readable offers, each with its network's name as sent. */
const readOffers = (accepts: ReadonlyArray<Schema.Json>) =>
  accepts.flatMap((raw) => {
    const offer = Result.getOrUndefined(Shape.read(offerV1, raw))
    const requirements = offer && X402Offer.fromV1(offer)
    return offer === undefined || requirements === undefined ? [] : [{ name: offer.network, requirements }]
  })

type Offers = ReturnType<typeof readOffers>

const pay = (offers: Offers, index: number, payload: Schema.Json): HeaderFields => {
  const offer = offers[index]
  if (offer === undefined) return {}
  const { name, requirements } = offer
  const payment = { x402Version: 1, scheme: requirements.scheme, network: name, payload }
  return { "X-PAYMENT": Base64Json.encode(payment) }
}

const readRefusal = (_head: ResponseHead, body: unknown): Result.Result<ReadRefusal, ValidationError> | undefined =>
  isVersionOne(body)
    ? Result.mapBoth(Shape.read(bodyShape, body), {
        onSuccess: ({ accepts, error }) => {
          const offers = readOffers(accepts)
          const required: PaymentRequired = {
            error: error ?? "",
            accepts: offers.map(({ requirements }) => requirements),
            ...X402Refusal.words(body, error)
          }
          return { required, paymentHeaders: (index, payload) => pay(offers, index, payload) }
        },
        onFailure: (fault) =>
          invalid("malformed", "payment_required", `the server's refusal is not a payment request: ${fault}`)
      })
    : undefined

interface Outcome extends Omit<Receipt, "amount" | "paymentId" | "ifRefused" | "extra"> {
  /** Of the extensions, the signed receipt in Pontage's own format. */
  readonly extensions?: PurchaseReceipt
}

const outcomeShape = /* @__PURE__ */ Shape.struct<Outcome>({
  success: /* @__PURE__ */ Shape.oneOf([true]),
  transaction: /* @__PURE__ */ Shape.guarded(
    "a transaction",
    (value): value is string => typeof value === "string" && value !== ""
  ),
  network: Shape.text,
  payer: /* @__PURE__ */ Shape.nullable(Shape.text),
  extensions: inExtensions
})

/** The dialect. */
export const x402v1Payer: PayerDialect = {
  paymentHeader: "X-PAYMENT",
  isKnownByHead: false,
  mayRefuse: ({ header, status }) =>
    status >= 400 && /^application\/json\s*(?:;|$)/i.test(header("content-type") ?? ""),
  readRefusal,
  readReceipt: (header) => {
    const text = header("x-payment-response")
    if (text === null) return undefined
    const json = Base64Json.decode("X-PAYMENT-RESPONSE", text, maximumReceiptBytes)
    const outcome = Result.getOrUndefined(Result.flatMap(json, (value) => Shape.read(outcomeShape, value)))
    if (outcome === undefined) return undefined
    const { extensions: signed, ...receipt } = outcome
    const network = X402Network.fromName(receipt.network) ?? receipt.network
    return { ...receipt, network, ...(signed && { signed }) }
  }
}
