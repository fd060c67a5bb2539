/**
 * x402 version 2 as the payer speaks it. What the server offered is repeated as it came, whole, with everything in it that
 * we do not understand; only so does the server recognise its own offer.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import * as Amount from "../protocol/Amount.ts"
import type { PaymentRequired } from "../protocol/PaymentRequired.ts"
import { invalid, type ValidationError } from "../protocol/ValidationError.ts"
import * as Base64Json from "./Base64Json.ts"
import type { AnswerHead, PayerDialect, ReadRefusal } from "./Dialect.ts"
import * as X402Offer from "./X402Offer.ts"
import * as X402Refusal from "./X402Refusal.ts"

/** More than any server sends: Node reads 16 KiB of headers in all. */
const maximumOfferBytes = 64 * 1024

const optional = Schema.optionalKey

const Request = /* @__PURE__ */ Schema.Struct({
  x402Version: Schema.Literal(2),
  error: /* @__PURE__ */ optional(/* @__PURE__ */ Schema.NullOr(Schema.String)),
  resource: /* @__PURE__ */ optional(Schema.Json),
  accepts: /* @__PURE__ */ Schema.Array(Schema.Json),
  extensions: /* @__PURE__ */ optional(Schema.Json)
})

const decodeRequest = /* @__PURE__ */ Schema.decodeUnknownResult(Request)
const decodeOffer = /* @__PURE__ */ Schema.decodeUnknownResult(X402Offer.OfferV2)
const decodeResource = /* @__PURE__ */ Schema.decodeUnknownResult(X402Offer.ResourceV2)

/** The offers that can be understood, each as it came and in our words. */
const readOffers = ({ accepts, resource }: typeof Request.Type) => {
  const place = Result.getOrUndefined(decodeResource(resource))
  return accepts.flatMap((raw) => {
    const offer = decodeOffer(raw)
    return Result.isSuccess(offer) ? [{ raw, requirements: X402Offer.fromV2(offer.success, place) }] : []
  })
}

const Outcome = /* @__PURE__ */ Schema.Struct({
  success: Schema.Boolean,
  transaction: Schema.String,
  network: Schema.String,
  payer: /* @__PURE__ */ optional(/* @__PURE__ */ Schema.NullOr(Schema.String)),
  amount: /* @__PURE__ */ optional(/* @__PURE__ */ Schema.NullOr(Schema.String)),
  errorReason: /* @__PURE__ */ optional(/* @__PURE__ */ Schema.NullOr(Schema.String))
})

const decodeOutcome = /* @__PURE__ */ Schema.decodeUnknownResult(Outcome)

const readOutcome = (header: AnswerHead["header"]): typeof Outcome.Type | undefined => {
  const text = header("payment-response")
  if (text === null) return undefined
  return Result.getOrUndefined(
    Result.flatMap(Base64Json.decode("PAYMENT-RESPONSE", text, maximumOfferBytes), decodeOutcome)
  )
}

/**
 * Reads a payment request of version 2 from its JSON; `words` is what the answer says beside it. A payment that answers an
 * offer is made as JSON by `payment`. Fails with `malformed`.
 *
 * @category conversions
 */
export const fromJson = (json: unknown, wordsFor: (word: string | null | undefined) => X402Refusal.Words) =>
  Result.mapBoth(decodeRequest(json), {
    onSuccess: (request) => {
      const offers = readOffers(request)
      const required: PaymentRequired = {
        error: request.error ?? "",
        accepts: offers.map(({ requirements }) => requirements),
        ...wordsFor(request.error)
      }
      const payment = (index: number, payload: Schema.Json) => ({
        x402Version: 2,
        payload,
        ...(request.extensions !== undefined && { extensions: request.extensions }),
        ...(request.resource !== undefined && { resource: request.resource }),
        accepted: offers[index]?.raw
      })
      return { required, payment }
    },
    onFailure: ({ message }) =>
      invalid("malformed", "payment_required", `the server's refusal is no payment request: ${message}`)
  })

const readRefusal = (head: AnswerHead, body: unknown): Result.Result<ReadRefusal, ValidationError> | undefined => {
  const outcome = readOutcome(head.header)
  const text = head.header("payment-required")
  if (text === null) return outcome === undefined ? undefined : Result.succeed(unsettled(outcome, body))
  return Result.flatMap(Base64Json.decode("PAYMENT-REQUIRED", text, maximumOfferBytes), (json) =>
    Result.map(
      fromJson(json, (word) => X402Refusal.words(body, outcome?.errorReason ?? word)),
      ({ payment, required }) => ({
        required,
        paymentHeaders: (index, payload) => ({ "PAYMENT-SIGNATURE": Base64Json.encode(payment(index, payload)) })
      })
    )
  )
}

/** A settlement that did not succeed is refused without new offers. */
const unsettled = ({ errorReason }: typeof Outcome.Type, body: unknown): ReadRefusal => ({
  required: { error: errorReason ?? "", accepts: [], ...X402Refusal.words(body, errorReason) },
  paymentHeaders: () => ({})
})

/**
 * The dialect.
 *
 * @category constants
 */
export const x402v2Payer: PayerDialect = {
  paymentHeader: "PAYMENT-SIGNATURE",
  mayRefuse: ({ header, status }) =>
    status >= 400 && (header("payment-required") !== null || readOutcome(header)?.success === false),
  readRefusal,
  readReceipt: (header) => {
    const outcome = readOutcome(header)
    if (outcome?.success !== true || outcome.transaction === "") return undefined
    const { amount, network, payer, transaction } = outcome
    return {
      success: true,
      transaction,
      network,
      ...(typeof payer === "string" && { payer }),
      ...(typeof amount === "string" && Amount.isText(amount) && { amount })
    }
  }
}
