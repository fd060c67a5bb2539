/**
 * The seller's dialect of Pontage's own wire format, version 2 (apps/docs/protocol.md#payment): `X-Payment` is one line
 * of ASCII JSON in both directions, `X-Payment-Response` is the receipt.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { PaymentPayload, protocolVersion } from "../../protocol/PaymentPayload.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import * as AsciiJson from "../http/AsciiJson.ts"
import type { PresentedPayment, SellerDialect } from "./Dialect.ts"

const decodePayload = Schema.decodeUnknownResult(PaymentPayload)
const readVersion = Schema.decodeUnknownResult(Schema.Struct({ protocolVersion: Schema.Number }))

const fromJson = (json: unknown): Result.Result<PresentedPayment, ValidationError> => {
  const version = readVersion(json)
  if (Result.isSuccess(version) && version.success.protocolVersion !== protocolVersion) {
    const message = `protocolVersion ${version.success.protocolVersion} is not supported here; use ${protocolVersion}`
    return Result.fail(invalid("unsupported_version", "protocol_version", message))
  }
  return Result.mapBoth(decodePayload(json), {
    onSuccess: (payment) => ({ payment, accepted: undefined }),
    onFailure: (error) =>
      invalid("malformed", "payment_fields", `the X-Payment header is not a payment: ${error.message}`)
  })
}

/** The dialect. */
export const protocolSeller: SellerDialect = {
  name: "our own",
  paymentHeader: "X-Payment",
  exposed: ["X-Payment", "X-Payment-Response"],
  offersInBody: true,
  canOffer: () => true,
  recognises: (text) => text.trimStart().startsWith("{"),
  readPayment: (text) => Result.flatMap(AsciiJson.decode(text), fromJson),
  refusal: (required) => ({
    headers: {
      "X-Payment": AsciiJson.encode({
        protocolVersion,
        schemes: [...new Set(required.accepts.map(({ scheme }) => scheme))]
      })
    },
    body: required
  }),
  receiptHeaders: (settlement, { receipts }) => ({
    "X-Payment-Response": AsciiJson.encode({
      ...settlement,
      ...(receipts?.purchase && { signedReceipt: receipts.purchase })
    })
  })
}
