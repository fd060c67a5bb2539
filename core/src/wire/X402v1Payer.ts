/**
 * x402 version 1 as the payer speaks it. Its refusals are told by their body alone, and a server of version 1 answers every
 * trouble with status 402.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import type { PaymentRequired } from "../protocol/PaymentRequired.ts"
import { invalid, type ValidationError } from "../protocol/ValidationError.ts"
import * as Base64Json from "./Base64Json.ts"
import type { AnswerHead, HeaderFields, PayerDialect, ReadRefusal } from "./Dialect.ts"
import * as X402Network from "./X402Network.ts"
import * as X402Offer from "./X402Offer.ts"
import * as X402Refusal from "./X402Refusal.ts"

/** More than any server sends: Node reads 16 KiB of headers in all. */
const maximumReceiptBytes = 64 * 1024

const optional = Schema.optionalKey

const isVersionOne = /* @__PURE__ */ Schema.is(/* @__PURE__ */ Schema.Struct({ x402Version: Schema.Literal(1) }))

const Body = /* @__PURE__ */ Schema.Struct({
  error: /* @__PURE__ */ optional(/* @__PURE__ */ Schema.NullOr(Schema.String)),
  accepts: /* @__PURE__ */ Schema.Array(Schema.Json)
})

const decodeBody = /* @__PURE__ */ Schema.decodeUnknownResult(Body)
const decodeOffer = /* @__PURE__ */ Schema.decodeUnknownResult(X402Offer.OfferV1)

/** The offers that can be understood, and the name of the network of each as it came. */
const readOffers = (accepts: ReadonlyArray<Schema.Json>) =>
  accepts.flatMap((raw) => {
    const offer = Result.getOrUndefined(decodeOffer(raw))
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

const readRefusal = (_head: AnswerHead, body: unknown): Result.Result<ReadRefusal, ValidationError> | undefined =>
  isVersionOne(body)
    ? Result.mapBoth(decodeBody(body), {
        onSuccess: ({ accepts, error }) => {
          const offers = readOffers(accepts)
          const required: PaymentRequired = {
            error: error ?? "",
            accepts: offers.map(({ requirements }) => requirements),
            ...X402Refusal.words(body, error)
          }
          return { required, paymentHeaders: (index, payload) => pay(offers, index, payload) }
        },
        onFailure: ({ message }) =>
          invalid("malformed", "payment_required", `the server's refusal is no payment request: ${message}`)
      })
    : undefined

const Outcome = /* @__PURE__ */ Schema.Struct({
  success: Schema.Literal(true),
  transaction: Schema.NonEmptyString,
  network: Schema.String,
  payer: /* @__PURE__ */ optional(/* @__PURE__ */ Schema.NullOr(Schema.String))
})

const decodeOutcome = /* @__PURE__ */ Schema.decodeUnknownResult(Outcome)

/**
 * The dialect.
 *
 * @category constants
 */
export const x402v1Payer: PayerDialect = {
  paymentHeader: "X-PAYMENT",
  mayRefuse: ({ header, status }) =>
    status >= 400 && /^application\/json\s*(?:;|$)/i.test(header("content-type") ?? ""),
  readRefusal,
  readReceipt: (header) => {
    const text = header("x-payment-response")
    if (text === null) return undefined
    const outcome = Result.flatMap(Base64Json.decode("X-PAYMENT-RESPONSE", text, maximumReceiptBytes), decodeOutcome)
    if (Result.isFailure(outcome)) return undefined
    const { network, payer, transaction } = outcome.success
    return {
      success: true,
      transaction,
      network: X402Network.fromName(network) ?? network,
      ...(typeof payer === "string" && { payer })
    }
  }
}
