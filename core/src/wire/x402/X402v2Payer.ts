/**
 * The payer's dialect of x402 version 2. The server's offer is repeated whole and unchanged, including fields that we
 * do not understand; only so does the server recognise its own offer.
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

import * as Amount from "../../protocol/Amount.ts"
import type { PaymentRequired } from "../../protocol/PaymentRequired.ts"
import type { IfRefused } from "../../protocol/Settlement.ts"
import * as Shape from "../../protocol/Shape.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import * as Base64Json from "../http/Base64Json.ts"
import type { PayerDialect, ReadReceipt, ReadRefusal, ResponseHead } from "../pontage/Dialect.ts"
import { ifRefused } from "../pontage/IfRefusedShape.ts"
import type { PurchaseReceipt } from "../pontage/PurchaseReceipt.ts"
import { inExtensions } from "../pontage/PurchaseReceiptShape.ts"
import type { RefusalDetails } from "../pontage/RefusalShape.ts"
import * as X402Identifier from "./X402Identifier.ts"
import * as X402Network from "./X402Network.ts"
import * as X402Offer from "./X402Offer.ts"
import { offerV2, resourceV2 } from "./X402OfferShape.ts"
import * as X402Refusal from "./X402Refusal.ts"
import * as X402Sponsoring from "./X402Sponsoring.ts"

/** Maximum length of an offer in bytes, more than any server sends: Node reads 16 KiB of headers in all. */
const maximumOfferBytes = 64 * 1024

interface Request {
  readonly x402Version: 2
  readonly error?: string
  readonly resource?: Schema.Json
  readonly accepts: ReadonlyArray<Schema.Json>
  readonly extensions?: Schema.Json
}

const requestShape = /* @__PURE__ */ Shape.struct<Request>({
  x402Version: /* @__PURE__ */ Shape.oneOf([2]),
  error: /* @__PURE__ */ Shape.nullable(Shape.text),
  resource: /* @__PURE__ */ Shape.optional(Shape.json),
  accepts: /* @__PURE__ */ Shape.list(Shape.json),
  extensions: /* @__PURE__ */ Shape.optional(Shape.json)
})

/** The readable offers, each as sent and converted to ours. */
const readOffers = ({ accepts, extensions, resource }: Request) => {
  const isSponsored = X402Sponsoring.isIn(extensions)
  const place = Result.getOrUndefined(Shape.read(resourceV2, resource))
  return accepts.flatMap((raw) => {
    const offer = Shape.read(offerV2, raw)
    if (Result.isFailure(offer)) return []
    const requirements = X402Offer.fromV2(offer.success, place)
    return [{ raw, requirements: isSponsored ? X402Sponsoring.marked(requirements) : requirements }]
  })
}

/** The settlement's outcome in a response; `transaction` is empty if none was sent. */
export interface SettlementOutcome {
  readonly success: boolean
  readonly transaction: string
  readonly network: string
  readonly payer?: string
  readonly amount?: string
  readonly errorReason?: string
  readonly ifRefused?: IfRefused
  readonly extra?: Schema.JsonObject
  /** Of the extensions, the signed receipt in Pontage's own format. */
  readonly extensions?: PurchaseReceipt
}

const maybeText = /* @__PURE__ */ Shape.nullable(Shape.text)

const outcomeShape = /* @__PURE__ */ Shape.struct<SettlementOutcome>({
  success: /* @__PURE__ */ Shape.oneOf([true, false]),
  transaction: Shape.text,
  network: Shape.text,
  payer: maybeText,
  amount: maybeText,
  errorReason: maybeText,
  ifRefused,
  extra: /* @__PURE__ */ Shape.nullable(Shape.object),
  extensions: inExtensions
})

/** Reads an outcome from its JSON; `undefined` if it is malformed. */
export const outcomeFromJson = (json: unknown): SettlementOutcome | undefined =>
  Result.getOrUndefined(Shape.read(outcomeShape, json))

/**
 * The fields of a refusal about the payment. A settlement that names its transaction may have moved the money, or may
 * still, whatever its word.
 */
export const wordsOf = (
  outcome: SettlementOutcome | undefined,
  body: unknown,
  error: string | undefined
): RefusalDetails => {
  const words = X402Refusal.words(body, outcome?.errorReason ?? error)
  const isOpen = outcome !== undefined && outcome.transaction !== "" && words.reason !== "already_used"
  return isOpen ? { ...words, retry: "same_payment" } : words
}

const readOutcome = (header: ResponseHead["header"]): SettlementOutcome | undefined => {
  const text = header("payment-response")
  if (text === null) return undefined
  const json = Base64Json.decode("PAYMENT-RESPONSE", text, maximumOfferBytes)
  return Result.isSuccess(json) ? outcomeFromJson(json.success) : undefined
}

/**
 * Reads a payment request of version 2 from its JSON; `wordsFor` gives the response's other fields. `payment` makes the
 * JSON of a payment for an offer. Fails with `malformed`.
 */
export const fromJson = (json: unknown, wordsFor: (word: string | undefined) => RefusalDetails) =>
  Result.mapBoth(Shape.read(requestShape, json), {
    onSuccess: (request) => {
      const offers = readOffers(request)
      const required: PaymentRequired = {
        error: request.error ?? "",
        accepts: offers.map(({ requirements }) => requirements),
        ...wordsFor(request.error)
      }
      const payment = (index: number, signed: Schema.Json) => {
        const { extension, payload } = X402Sponsoring.outOfPayload(signed)
        const extensions =
          request.extensions === undefined ? {} : X402Identifier.withIdentifier(request.extensions, payload)
        return {
          x402Version: 2,
          payload,
          ...((request.extensions !== undefined || extension !== undefined) && {
            extensions: X402Sponsoring.into(extensions, extension)
          }),
          ...(request.resource !== undefined && { resource: request.resource }),
          accepted: offers[index]?.raw
        }
      }
      return { required, payment }
    },
    onFailure: (fault) =>
      invalid("malformed", "payment_required", `the server's refusal is not a payment request: ${fault}`)
  })

const readRefusal = (head: ResponseHead, body: unknown): Result.Result<ReadRefusal, ValidationError> | undefined => {
  const outcome = readOutcome(head.header)
  const text = head.header("payment-required")
  if (text === null) return outcome === undefined ? undefined : Result.succeed(unsettled(outcome, body))
  return Result.flatMap(Base64Json.decode("PAYMENT-REQUIRED", text, maximumOfferBytes), (json) =>
    Result.map(
      fromJson(json, (error) => wordsOf(outcome, body, error)),
      ({ payment, required }) => ({
        required,
        paymentHeaders: (index, payload) => ({ "PAYMENT-SIGNATURE": Base64Json.encode(payment(index, payload)) })
      })
    )
  )
}

/** A payment through a channel has no transaction, and the channel's state instead. */
const receiptOf = (outcome: SettlementOutcome | undefined): ReadReceipt | undefined => {
  const isOfChannel = Shape.isObject(outcome?.extra?.["channelState"])
  if (outcome?.success !== true || (outcome.transaction === "" && !isOfChannel)) return undefined
  const { amount, extensions: signed, extra, ifRefused, network, payer, transaction } = outcome
  return {
    success: true,
    transaction,
    network: X402Network.fromV2(network),
    ...(payer !== undefined && { payer }),
    ...(amount !== undefined && Amount.isText(amount) && { amount }),
    ...(ifRefused !== undefined && { ifRefused }),
    ...(isOfChannel && extra !== undefined && { extra }),
    ...(signed !== undefined && { signed })
  }
}

/** Reads a receipt of version 2 from its JSON; `undefined` if it is malformed, or says that no money has moved. */
export const receiptFromJson = (json: unknown): ReadReceipt | undefined => receiptOf(outcomeFromJson(json))

/** A settlement that did not succeed is refused without new offers. */
const unsettled = (outcome: SettlementOutcome, body: unknown): ReadRefusal => ({
  required: { error: outcome.errorReason ?? "", accepts: [], ...wordsOf(outcome, body, undefined) },
  paymentHeaders: () => ({})
})

/** The dialect. */
export const x402v2Payer: PayerDialect = {
  paymentHeader: "PAYMENT-SIGNATURE",
  isKnownByHead: true,
  mayRefuse: ({ header, status }) =>
    status >= 400 && (header("payment-required") !== null || readOutcome(header)?.success === false),
  readRefusal,
  readReceipt: (header) => receiptOf(readOutcome(header))
}
