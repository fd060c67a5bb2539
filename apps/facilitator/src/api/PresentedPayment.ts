/**
 * A payment as a caller presents it, be it a server of ours or one of x402, and how that caller is answered: beyond this
 * there is one kind of payment and one kind of verdict. The envelope that a payer sent is decoded leniently, because what
 * is wrong with it is a verdict about the payment and not a fault of the caller, who only passes it on.
 */
import {
  FacilitatorApi,
  invalid,
  type PaymentError,
  PaymentPayload,
  PaymentReading,
  type PaymentRequest,
  type PaymentRequirements,
  type SchemeFacilitator,
  type ValidationError,
  X402ServerApiResponse,
  X402ServerApiRequest
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

const otherwise = (field: string) =>
  Schema.optionalKey(
    Schema.Never.annotate({
      message: "a body is either of this protocol (protocolVersion) or of x402 (x402Version), never both",
      description: `Not beside ${field}`
    })
  )

const ours = {
  protocolVersion: Schema.Number.pipe(
    Schema.annotateKey({ messageMissingKey: "protocolVersion is missing, and so is x402Version or what belongs to it" })
  ),
  x402Version: otherwise("protocolVersion"),
  paymentPayload: Schema.Union([PaymentPayload.PaymentPayload, Schema.Json]).annotate({
    description: "What the payer sent. Anything but a payment envelope of version 2 is answered with a verdict"
  })
}

const theirs = { protocolVersion: otherwise("x402Version") }

const x402Requests = [
  Schema.Struct({ ...X402ServerApiRequest.RequestV2.fields, ...theirs }),
  Schema.Struct({ ...X402ServerApiRequest.RequestV1.fields, ...theirs }),
  Schema.Struct({ ...X402ServerApiRequest.RequestOther.fields, ...theirs }).annotate({
    description: "Any other version of x402 is answered with a verdict"
  })
] as const

/** `POST /verify`. */
export const VerifyRequest = Schema.Union([
  Schema.Struct({ ...FacilitatorApi.VerifyRequest.fields, ...ours }),
  ...x402Requests
])

/** `POST /settle`. Servers of x402 make no claim. */
export const SettleRequest = Schema.Union([
  Schema.Struct({ ...FacilitatorApi.SettleRequest.fields, ...ours }),
  ...x402Requests
])

/** `POST /claims`. */
export const ClaimRequest = Schema.Struct({ ...FacilitatorApi.ClaimRequest.fields, ...ours })

/** The answer of `POST /verify`, to either kind of caller. */
export const VerifyAnswer = Schema.Union([X402ServerApiResponse.VerifyAnswer, FacilitatorApi.VerifyResponse])

/** The answer of `POST /settle`, to either kind of caller. */
export const SettleAnswer = Schema.Union([FacilitatorApi.SettleResponse, X402ServerApiResponse.SettleAnswer])

type Refusal = PaymentError | ValidationError

/** A payment as it is understood, and how its caller is answered. */
export interface PresentedPayment {
  /** The network as the caller names it. */
  readonly network: string
  readonly paymentRequirements: Result.Result<PaymentRequirements.PaymentRequirements, Refusal>
  /** Nothing of it is believed. */
  readonly request: Result.Result<PaymentRequest, Refusal>
  readonly verified: (answer: typeof FacilitatorApi.VerifyResponse.Type) => typeof VerifyAnswer.Type
  readonly settled: (answer: typeof FacilitatorApi.SettleResponse.Type) => typeof SettleAnswer.Type
}

/** Reads what a caller sent. What cannot be read fails inside. */
export const read = (body: typeof VerifyRequest.Type): PresentedPayment =>
  body.protocolVersion === undefined ? readTheirs(X402ServerApiRequest.read(body)) : readOurs(body)

const readTheirs = (asked: X402ServerApiRequest.X402Request): PresentedPayment => {
  const { network, paymentPayload, paymentRequirements } = asked
  return {
    network,
    paymentRequirements,
    request: Result.all({ paymentRequirements, paymentPayload }),
    verified: (answer) => X402ServerApiResponse.ofVerify(asked, answer),
    settled: (answer) => X402ServerApiResponse.ofSettle(asked, answer)
  }
}

/** Reads what a server of ours sent. */
export const readOurs = (body: Omit<typeof ClaimRequest.Type, "claim">): PresentedPayment => {
  const { paymentRequirements } = body
  return {
    network: paymentRequirements.network,
    paymentRequirements: Result.succeed(paymentRequirements),
    request: toRequest(body),
    verified: (answer) => answer,
    settled: (answer) => answer
  }
}

const decodeVersioned = Schema.decodeUnknownResult(Schema.Struct({ protocolVersion: Schema.Number }))
const decodeEnvelope = Schema.decodeUnknownResult(PaymentPayload.PaymentPayload)

const toRequest = ({
  paymentPayload,
  paymentRequirements,
  protocolVersion
}: Omit<typeof ClaimRequest.Type, "claim">): Result.Result<PaymentRequest, ValidationError> => {
  if (protocolVersion !== PaymentPayload.protocolVersion) return otherVersion(protocolVersion)
  const version = decodeVersioned(paymentPayload)
  if (Result.isSuccess(version) && version.success.protocolVersion !== PaymentPayload.protocolVersion) {
    return otherVersion(version.success.protocolVersion)
  }
  return Result.mapBoth(decodeEnvelope(paymentPayload), {
    onSuccess: (envelope) => ({ paymentPayload: envelope, paymentRequirements }),
    onFailure: ({ message }) =>
      invalid("malformed", "payment_fields", `what the payer sent is not a payment: ${message}`)
  })
}

const otherVersion = (version: number) => {
  const message = `protocolVersion ${version} is not supported here; use ${PaymentPayload.protocolVersion}`
  return Result.fail(invalid("unsupported_version", "protocol_version", message))
}

/** Who the payment says pays, by its own words: nothing is proven. `undefined` where it cannot be read. */
export const payerOf = (
  schemes: ReadonlyArray<SchemeFacilitator>,
  request: PaymentRequest
): Effect.Effect<string | undefined> => {
  const { network, scheme } = request.paymentRequirements
  const half = schemes.find((one) => one.scheme.name === scheme && one.scheme.network(network) === one.network)
  if (half === undefined) return Effect.undefined
  return Effect.match(PaymentReading.read(half, request), {
    onSuccess: ({ payment }) => `${half.network} ${payment.authorization.payer}`,
    onFailure: () => undefined
  })
}
