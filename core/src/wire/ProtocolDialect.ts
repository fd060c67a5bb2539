/**
 * Our own wire format, version 2 (specification 4.2 and 4.3): `X-Payment` is one line of ASCII JSON in both directions,
 * `X-Payment-Response` is the receipt.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { PaymentPayload, protocolVersion } from "../protocol/PaymentPayload.ts"
import { PaymentRequired } from "../protocol/PaymentRequired.ts"
import { Settlement } from "../protocol/Settlement.ts"
import { invalid, type ValidationError } from "../protocol/ValidationError.ts"
import * as AsciiJson from "./AsciiJson.ts"
import type { Dialect } from "./Dialect.ts"

const decodePayload = Schema.decodeUnknownResult(PaymentPayload)
const decodeRequired = Schema.decodeUnknownResult(PaymentRequired)
const decodeSettlement = Schema.decodeUnknownResult(Settlement)
const readVersion = Schema.decodeUnknownResult(Schema.Struct({ protocolVersion: Schema.Number }))

const readPayment: Dialect["readPayment"] = (header) => {
  const value = header("x-payment")
  if (value === undefined) return undefined
  if (typeof value !== "string") return Result.fail(duplicate)
  return Result.flatMap(AsciiJson.decode(value), fromJson)
}

const duplicate = invalid("malformed", "duplicate_header", "the X-Payment header came more than once; send exactly one")

const fromJson = (json: unknown): Result.Result<PaymentPayload, ValidationError> => {
  const version = readVersion(json)
  if (Result.isSuccess(version) && version.success.protocolVersion !== protocolVersion) {
    const message = `protocolVersion ${version.success.protocolVersion} is not spoken here; use ${protocolVersion}`
    return Result.fail(invalid("unsupported_version", "protocol_version", message))
  }
  return Result.mapError(decodePayload(json), (error) =>
    invalid("malformed", "payment_fields", `the X-Payment header is no payment: ${error.message}`)
  )
}

/**
 * The dialect.
 *
 * @category constants
 */
export const protocolDialect: Dialect = {
  paymentHeader: "x-payment",
  readPayment,
  refusalHeaders: ({ accepts }) => ({
    "X-Payment": AsciiJson.encode({ protocolVersion, schemes: [...new Set(accepts.map(({ scheme }) => scheme))] })
  }),
  receiptHeaders: (settlement) => ({ "X-Payment-Response": AsciiJson.encode(settlement) }),
  isRefusal: (status, header) => (status === 402 || status === 409 || status === 503) && header("x-payment") !== null,
  readRefusal: (body) =>
    Result.mapError(decodeRequired(body), (error) =>
      invalid("malformed", "payment_required", `the server's refusal is no payment request: ${error.message}`)
    ),
  paymentHeaders: (payload) => ({ "X-Payment": AsciiJson.encode(payload) }),
  readReceipt: (header) => {
    const text = header("x-payment-response")
    if (text === null) return undefined
    return Result.getOrUndefined(Result.flatMap(AsciiJson.decode(text), decodeSettlement))
  }
}
