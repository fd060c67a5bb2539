/**
 * The seller's dialect of x402 version 1: the offers are the body, the payment is base64 of JSON in `X-PAYMENT`, the
 * receipt in `X-PAYMENT-RESPONSE` (x402 specification version 1). Its clients parse every offer against a closed list
 * of networks, so the body contains only those.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { type PaymentError, refuse } from "../../protocol/PaymentError.ts"
import { sealPayload } from "../../protocol/PaymentPayload.ts"
import type { PaymentRequired } from "../../protocol/PaymentRequired.ts"
import type { Settlement } from "../../protocol/Settlement.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import { maximumBase64Bytes } from "../http/AsciiJson.ts"
import * as Base64Json from "../http/Base64Json.ts"
import type { OfferTerms, PresentedPayment, SellerDialect, SignedReceipts } from "../pontage/Dialect.ts"
import type { SignedOffer } from "../pontage/SignedOffer.ts"
import * as X402Network from "./X402Network.ts"
import * as X402Offer from "./X402Offer.ts"
import * as X402Reason from "./X402Reason.ts"
import * as X402SignedStatements from "./X402SignedStatements.ts"

/** A payment of version 1. It does not repeat its offer. */
export const PaymentV1 = Schema.Struct({
  x402Version: Schema.Literal(1),
  scheme: Schema.String,
  network: Schema.String,
  payload: Schema.Record(Schema.String, Schema.Json)
})

const decodePayment = Schema.decodeUnknownResult(PaymentV1)
const readVersion = Schema.decodeUnknownResult(Schema.Struct({ x402Version: Schema.Json }))

/** The refusal of an unknown network name. */
export const unknownName = (name: string): PaymentError => {
  const message = `the network ${JSON.stringify(name)} is unknown to x402 version 1, which knows: ${X402Network.knownNames.join(", ")}`
  return refuse("NETWORK_MISMATCH", "unknown_network_name", message)
}

/**
 * Reads a payment of version 1 from its JSON. Fails with `malformed`, `unsupported_version`, or `NETWORK_MISMATCH` for
 * an unknown network name.
 */
export const fromJson = (json: unknown): Result.Result<PresentedPayment, PaymentError | ValidationError> => {
  const version = readVersion(json)
  if (Result.isSuccess(version) && version.success.x402Version !== 1) {
    const said = JSON.stringify(version.success.x402Version)
    return Result.fail(invalid("unsupported_version", "x402_version", `x402Version ${said} is not 1`))
  }
  const payment = decodePayment(json)
  if (Result.isFailure(payment)) {
    const message = `the payment is not one of x402 version 1: ${payment.failure.message}`
    return Result.fail(invalid("malformed", "payment_fields", message))
  }
  const { network: name, payload, scheme } = payment.success
  const network = X402Network.fromName(name)
  if (network === undefined) {
    return Result.fail(unknownName(name))
  }
  return Result.succeed({ payment: sealPayload(scheme, network, payload), accepted: undefined })
}

const bodyOf = (required: PaymentRequired, { signed }: OfferTerms = {}) => {
  const { accepts, error: message, ...words } = required
  const extensions = X402SignedStatements.offered(
    X402SignedStatements.shownOf(accepts, signed).filter(isNamed).map(unplaced)
  )
  return {
    x402Version: 1,
    error: X402Reason.ofRefusal(1, required),
    accepts: accepts.filter(X402Offer.isPayable).flatMap((requirements) => X402Offer.toV1(requirements) ?? []),
    ...words,
    message,
    ...(Object.keys(extensions).length > 0 && { extensions })
  }
}

/** Whether version 1 has a name for the offer's network. */
const isNamed = ({ payload }: SignedOffer): boolean => X402Network.nameOf(payload.network) !== undefined

/** The offer without its place, which is another one where offers are left out. */
const unplaced = ({ format, payload, signature }: SignedOffer): SignedOffer => ({ format, payload, signature })

const receiptOf = ({ network, payer, transaction }: Settlement, receipts?: SignedReceipts) => ({
  success: true,
  transaction,
  network: X402Network.nameOf(network) ?? network,
  payer,
  ...X402SignedStatements.inReceipt(receipts)
})

/** The dialect. As the first of a route's `dialects`, it writes the body of its refusals. */
export const x402v1Seller: SellerDialect = {
  name: "x402 version 1",
  paymentHeader: "X-PAYMENT",
  exposed: ["X-PAYMENT-RESPONSE"],
  offersInBody: true,
  canOffer: (_scheme, network, extra = {}) =>
    X402Offer.isPayable({ extra }) && X402Network.nameOf(network) !== undefined,
  recognises: (text) => !text.trimStart().startsWith("{"),
  readPayment: (text) => Result.flatMap(Base64Json.decode("X-PAYMENT", text, maximumBase64Bytes), fromJson),
  carriesBriefReceipts: true,
  refusal: (required, _order, terms) => ({ headers: {}, body: bodyOf(required, terms) }),
  receiptHeaders: (settlement, { receipts }) => ({
    "X-PAYMENT-RESPONSE": Base64Json.encode(receiptOf(settlement, receipts))
  })
}
