/**
 * A payment as a caller presents it. The envelope that a payer sent is decoded leniently, because what is wrong with it is
 * a verdict about the payment and not a fault of the caller, who only passes it on.
 */
import {
  FacilitatorApi,
  invalid,
  PaymentPayload,
  type PaymentRequest,
  type SchemeFacilitator,
  type ValidationError
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

const lenient = {
  protocolVersion: Schema.Number,
  paymentPayload: Schema.Union([PaymentPayload.PaymentPayload, Schema.Json]).annotate({
    description: "What the payer sent. Anything but a payment envelope of version 2 is answered with a verdict"
  })
}

/**
 * `POST /verify`.
 *
 * @category schemas
 */
export const VerifyRequest = Schema.Struct({ ...FacilitatorApi.VerifyRequest.fields, ...lenient })

/**
 * `POST /settle`.
 *
 * @category schemas
 */
export const SettleRequest = Schema.Struct({ ...FacilitatorApi.SettleRequest.fields, ...lenient })

/**
 * `POST /claims`.
 *
 * @category schemas
 */
export const ClaimRequest = Schema.Struct({ ...FacilitatorApi.ClaimRequest.fields, ...lenient })

const decodeVersioned = Schema.decodeUnknownResult(Schema.Struct({ protocolVersion: Schema.Number }))
const decodeEnvelope = Schema.decodeUnknownResult(PaymentPayload.PaymentPayload)

/**
 * The payment request inside. Fails with `unsupported_version` or `malformed`.
 *
 * @category conversions
 */
export const toRequest = ({
  paymentPayload,
  paymentRequirements,
  protocolVersion
}: typeof VerifyRequest.Type): Result.Result<PaymentRequest, ValidationError> => {
  if (protocolVersion !== PaymentPayload.protocolVersion) return otherVersion(protocolVersion)
  const version = decodeVersioned(paymentPayload)
  if (Result.isSuccess(version) && version.success.protocolVersion !== PaymentPayload.protocolVersion) {
    return otherVersion(version.success.protocolVersion)
  }
  return Result.mapBoth(decodeEnvelope(paymentPayload), {
    onSuccess: (envelope) => ({ paymentPayload: envelope, paymentRequirements }),
    onFailure: ({ message }) => invalid("malformed", "payment_fields", `what the payer sent is no payment: ${message}`)
  })
}

const otherVersion = (version: number) => {
  const message = `protocolVersion ${version} is not spoken here; use ${PaymentPayload.protocolVersion}`
  return Result.fail(invalid("unsupported_version", "protocol_version", message))
}

/**
 * Who the payment says pays, by its own words: nothing is proven. `undefined` where it cannot be read.
 *
 * @category getters
 */
export const payerOf = Effect.fnUntraced(
  function* (schemes: ReadonlyArray<SchemeFacilitator>, { paymentPayload, paymentRequirements }: PaymentRequest) {
    const { network, scheme } = paymentRequirements
    const half = schemes.find((one) => one.scheme.name === scheme && one.scheme.network(network) === one.network)
    if (half === undefined) return undefined
    const payload = yield* Effect.fromResult(PaymentPayload.openPayload(paymentPayload))
    const { authorization } = yield* half.read({ ...paymentRequirements, network: half.network }, payload)
    return `${half.network} ${authorization.payer}`
  },
  Effect.orElseSucceed(() => undefined)
)
