/**
 * The requests of an x402 server to a facilitator, `POST /verify` and `POST /settle` in both versions, translated into
 * ours (x402 specification, section "Facilitator Interface"). Their content is decoded leniently, because peers have
 * words for verdicts about mistakes in it; only a body that is not such a request at all is refused without a verdict.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { type PaymentError, refuse } from "../../protocol/PaymentError.ts"
import type { PaymentPayload } from "../../protocol/PaymentPayload.ts"
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import type { PresentedPayment } from "../pontage/Dialect.ts"
import * as X402Offer from "../x402/X402Offer.ts"
import type { X402Version } from "../x402/X402Reason.ts"
import * as X402v1Seller from "../x402/X402v1Seller.ts"
import * as X402v2Seller from "../x402/X402v2Seller.ts"

const described = <Shape extends Schema.Top>(shape: Shape, what: string) =>
  Schema.Union([shape, Schema.Json]).annotate({ description: `${what}. Anything else gets a verdict` })

/** A request of version 1. */
export const RequestV1 = Schema.Struct({
  x402Version: Schema.Literal(1),
  paymentPayload: described(X402v1Seller.PaymentV1, "What the payer sent: a payment of x402 version 1"),
  paymentRequirements: described(X402Offer.OfferV1, "The offer it pays, with the network's name in version 1")
})

const PaymentV2 = Schema.Struct({
  ...X402v2Seller.PaymentV2.fields,
  resource: Schema.optionalKey(X402Offer.ResourceV2)
})

/** A request of version 2. */
export const RequestV2 = Schema.Struct({
  x402Version: Schema.Literal(2),
  paymentPayload: described(PaymentV2, "What the payer sent: a payment of x402 version 2"),
  paymentRequirements: described(X402Offer.OfferV2, "The offer it pays")
})

/** A request of an unknown version. */
export const RequestOther = Schema.Struct({
  x402Version: Schema.Json,
  paymentPayload: Schema.Json,
  paymentRequirements: Schema.Json
})

/** A request of any version. */
export type AnyRequest = typeof RequestV1.Type | typeof RequestV2.Type | typeof RequestOther.Type

/** A decoded request. */
export interface X402Request {
  /** The version of its response. */
  readonly version: X402Version
  /** The network as the caller names it; empty if it names none. */
  readonly network: string
  readonly paymentRequirements: Result.Result<PaymentRequirements, PaymentError | ValidationError>
  readonly paymentPayload: Result.Result<PaymentPayload, PaymentError | ValidationError>
}

const decodeOfferV1 = Schema.decodeUnknownResult(X402Offer.OfferV1)
const decodeOfferV2 = Schema.decodeUnknownResult(X402Offer.OfferV2)
const decodeNamed = Schema.decodeUnknownResult(Schema.Struct({ network: Schema.String }))
const decodePlaced = Schema.decodeUnknownResult(Schema.Struct({ resource: X402Offer.ResourceV2 }))

/**
 * Reads a request. Its fields fail with `malformed` (detail `requirements_fields` for the offer),
 * `unsupported_version`, `unsupported_scheme` or `NETWORK_MISMATCH`. The scheme's own payload is not read.
 */
export const read = (request: AnyRequest): X402Request => {
  if (request.x402Version === 1) return readV1(request)
  return request.x402Version === 2 ? readV2(request) : readOther(request)
}

const nameIn = (requirements: unknown): string =>
  Result.match(decodeNamed(requirements), { onSuccess: ({ network }) => network, onFailure: () => "" })

const readV1 = ({ paymentPayload, paymentRequirements }: Omit<AnyRequest, "x402Version">): X402Request => {
  const requirements = Result.flatMap(
    Result.mapError(decodeOfferV1(paymentRequirements), ({ message }) => noOffer(1, message)),
    (offer) => Result.fromNullishOr(X402Offer.fromV1(offer), () => X402v1Seller.unknownName(offer.network))
  )
  return {
    version: 1,
    network: nameIn(paymentRequirements),
    paymentRequirements: requirements,
    paymentPayload: agreeing(X402v1Seller.fromJson(paymentPayload), requirements)
  }
}

const decodeRecord = Schema.decodeUnknownResult(Schema.Record(Schema.String, Schema.Unknown))

/**
 * Peers give no seconds (0) where no payer signs anything: in a server's requests to claim and to settle its payment channels. An offer
 * has at least one second, and such a request has one here.
 */
const timed = (json: unknown): unknown =>
  Result.match(decodeRecord(json), {
    onSuccess: (offer) => (offer["maxTimeoutSeconds"] === 0 ? { ...offer, maxTimeoutSeconds: 1 } : json),
    onFailure: () => json
  })

const timedPayment = (json: unknown): unknown =>
  Result.match(decodeRecord(json), {
    onSuccess: (payment) => ({ ...payment, accepted: timed(payment["accepted"]) }),
    onFailure: () => json
  })

const readV2 = ({ paymentPayload, paymentRequirements }: Omit<AnyRequest, "x402Version">): X402Request => {
  const place = Result.getOrUndefined(decodePlaced(paymentPayload))
  const requirements = Result.mapBoth(decodeOfferV2(timed(paymentRequirements)), {
    onSuccess: (offer) => X402Offer.fromV2(offer, place?.resource),
    onFailure: ({ message }) => noOffer(2, message)
  })
  return {
    version: 2,
    network: nameIn(paymentRequirements),
    paymentRequirements: requirements,
    paymentPayload: agreeing(X402v2Seller.fromJson(timedPayment(paymentPayload)), requirements)
  }
}

const readOther = ({ paymentRequirements, x402Version }: AnyRequest): X402Request => {
  const said = JSON.stringify(x402Version).slice(0, 100)
  const message = `x402Version ${said} is not supported here; use 1 or 2`
  const failure = invalid("unsupported_version", "x402_version", message)
  return {
    version: 2,
    network: nameIn(paymentRequirements),
    paymentRequirements: Result.fail(failure),
    paymentPayload: Result.fail(failure)
  }
}

const noOffer = (version: X402Version, message: string) =>
  invalid("malformed", "requirements_fields", `the requirements are not those of x402 version ${version}: ${message}`)

/** The payment, if its scheme and network equal those of the requirements; its signature covers them. */
const agreeing = (
  presented: Result.Result<PresentedPayment, PaymentError | ValidationError>,
  requirements: Result.Result<PaymentRequirements, PaymentError | ValidationError>
): Result.Result<PaymentPayload, PaymentError | ValidationError> => {
  if (Result.isFailure(presented)) return Result.fail(presented.failure)
  const { payment } = presented.success
  if (Result.isFailure(requirements)) return Result.succeed(payment)
  const { network, scheme } = requirements.success
  if (payment.scheme !== scheme) {
    const message = `the payment is of the scheme "${payment.scheme}", the requirements of "${scheme}"`
    return Result.fail(invalid("unsupported_scheme", "other_scheme", message))
  }
  if (payment.network !== network) {
    const message = `the payment is for ${payment.network}, the requirements for ${network}`
    return Result.fail(refuse("NETWORK_MISMATCH", "other_network", message))
  }
  return Result.succeed(payment)
}
