/**
 * Requests with a payment from servers of this protocol and of x402, and the responses in their dialect. Other modules see one
 * kind of payment and one kind of verdict. The payer's envelope is decoded leniently, because an error in it is a verdict about
 * the payment, not a fault of the caller who passes it on.
 */
import {
  DrawsApi,
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
    description: "The payer's envelope. Anything but a payment envelope of version 2 gets a verdict"
  })
}

const theirs = { protocolVersion: otherwise("x402Version") }

const x402Requests = [
  Schema.Struct({ ...X402ServerApiRequest.RequestV2.fields, ...theirs }),
  Schema.Struct({ ...X402ServerApiRequest.RequestV1.fields, ...theirs }),
  Schema.Struct({ ...X402ServerApiRequest.RequestOther.fields, ...theirs }).annotate({
    description: "Any other version of x402 gets a verdict"
  })
] as const

/** `POST /verify`. */
export const VerifyRequest = Schema.Union([
  Schema.Struct({ ...FacilitatorApi.VerifyRequest.fields, ...ours }),
  ...x402Requests
])

/** `POST /settle`. Servers of x402 send no claim. */
export const SettleRequest = Schema.Union([
  Schema.Struct({ ...FacilitatorApi.SettleRequest.fields, ...ours }),
  ...x402Requests
])

/** `POST /claims`. */
export const ClaimRequest = Schema.Struct({ ...FacilitatorApi.ClaimRequest.fields, ...ours })

/** One of the draws of `POST /draws`. */
const Draw = Schema.Struct({ ...DrawsApi.Draw.fields, ...ours })

/** `POST /draws`. */
export const DrawsRequest = Schema.Struct({
  draws: Schema.Array(Draw).check(Schema.isMinLength(1), Schema.isMaxLength(DrawsApi.maximumDraws))
})

/** `POST /vouchers`. */
export const VoucherRequest = Schema.Struct({ ...DrawsApi.VoucherRequest.fields, ...ours })

/** Response of `POST /verify` in either dialect. */
export const VerifyResponse = Schema.Union([X402ServerApiResponse.X402VerifyResponse, FacilitatorApi.VerifyResponse])

/** Response of `POST /settle` in either dialect. */
export const SettleResponse = Schema.Union([FacilitatorApi.SettleResponse, X402ServerApiResponse.X402SettleResponse])

type Refused = PaymentError | ValidationError

/** A decoded payment, and the encoders of the responses to its caller. */
export interface PresentedPayment {
  /** The network in the caller's spelling. */
  readonly network: string
  readonly paymentRequirements: Result.Result<PaymentRequirements.PaymentRequirements, Refused>
  /** The request, not verified. */
  readonly request: Result.Result<PaymentRequest, Refused>
  readonly verified: (response: typeof FacilitatorApi.VerifyResponse.Type) => typeof VerifyResponse.Type
  readonly settled: (response: typeof FacilitatorApi.SettleResponse.Type) => typeof SettleResponse.Type
}

/** Reads a request. Malformed parts are failures inside of the result. */
export const read = (body: typeof VerifyRequest.Type): PresentedPayment =>
  body.protocolVersion === undefined ? readTheirs(X402ServerApiRequest.read(body)) : readOurs(body)

const readTheirs = (asked: X402ServerApiRequest.X402Request): PresentedPayment => {
  const { network, paymentPayload, paymentRequirements } = asked
  return {
    network,
    paymentRequirements,
    request: Result.all({ paymentRequirements, paymentPayload }),
    verified: (response) => X402ServerApiResponse.ofVerify(asked, response),
    settled: (response) => X402ServerApiResponse.ofSettle(asked, response)
  }
}

/** Reads a request of a server of this protocol. */
export const readOurs = (body: Omit<typeof ClaimRequest.Type, "claim">): PresentedPayment => {
  const { paymentRequirements } = body
  return {
    network: paymentRequirements.network,
    paymentRequirements: Result.succeed(paymentRequirements),
    request: toRequest(body),
    verified: (response) => response,
    settled: (response) => response
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

/** The payer that an unverified payment names, with its network; `undefined` for a malformed payment. */
export const payerOf = (
  schemes: ReadonlyArray<SchemeFacilitator>,
  request: PaymentRequest
): Effect.Effect<string | undefined> => {
  const { network, scheme: name } = request.paymentRequirements
  const scheme = schemes.find((one) => one.scheme.name === name && one.scheme.network(network) === one.network)
  if (scheme === undefined) return Effect.undefined
  return Effect.match(PaymentReading.read(scheme, request), {
    onSuccess: ({ payment }) => `${scheme.network} ${payment.authorization.payer}`,
    onFailure: () => undefined
  })
}
