/**
 * The payment a client sends in `X-Payment` (apps/docs/protocol.md#payment): an envelope of four fields around the scheme's signed data.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import * as Base64Text from "./text/Base64Text.ts"
import { depthOf, maximumDepth } from "./text/JsonDepth.ts"
import { invalid, type ValidationError } from "./ValidationError.ts"

/** The one protocol version that is read and written. */
export const protocolVersion = 2

/** The envelope. `payload` is base64 (standard alphabet, padded; base64url is read too) of the scheme's JSON. */
export const PaymentPayload = /* @__PURE__ */ Schema.Struct({
  protocolVersion: /* @__PURE__ */ Schema.Literal(protocolVersion),
  scheme: Schema.String,
  network: Schema.String,
  payload: Schema.String
})

export type PaymentPayload = typeof PaymentPayload.Type

/**
 * The proof that an authorization was signed for one request (see `Binding`): the server's challenge and the payer's
 * salt, both base64url. Every scheme's payload carries it under the same name.
 */
export const RequestBinding = /* @__PURE__ */ Schema.Struct({
  challenge: /* @__PURE__ */ Schema.String.check(/* @__PURE__ */ Schema.isPattern(/^[A-Za-z0-9_-]{16,128}$/)),
  salt: /* @__PURE__ */ Schema.String.check(/* @__PURE__ */ Schema.isPattern(/^[A-Za-z0-9_-]{22,43}$/)),
  /** The realm of a challenge of the Machine Payments Protocol, whose nonce is derived in another way (see `Binding`). */
  realm: /* @__PURE__ */ Schema.optionalKey(
    /* @__PURE__ */ Schema.String.check(/* @__PURE__ */ Schema.isMaxLength(255))
  )
})

export type RequestBinding = typeof RequestBinding.Type

const base64 = /^(?:[A-Za-z0-9+/]*={0,2}|[A-Za-z0-9_-]*={0,2})$/

/**
 * The scheme's JSON inside an envelope, nested at most 8 deep, not yet checked by the scheme. Fails with `malformed`.
 */
export const openPayload = (envelope: PaymentPayload): Result.Result<unknown, ValidationError> => {
  if (!base64.test(envelope.payload)) return malformed("is not base64")
  const standard = envelope.payload.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "")
  const text = Base64Text.decode(standard.padEnd(Math.ceil(standard.length / 4) * 4, "="))
  if (Result.isFailure(text)) return malformed(text.failure === "not_base64" ? "is not base64" : noJson)
  if (depthOf(text.success) > maximumDepth) return malformed(`is nested deeper than ${maximumDepth}`)
  return Result.try({
    try: (): unknown => JSON.parse(text.success),
    catch: () => refusal(noJson)
  })
}

const noJson = "is base64 of something that is not UTF-8 JSON"

const refusal = (what: string) =>
  invalid("malformed", "payload_encoding", `the field "payload" ${what}; expected base64 of the scheme's JSON`)

const malformed = (what: string) => Result.fail(refusal(what))

/** The envelope around a scheme's signed JSON. */
export const sealPayload = (scheme: string, network: string, payload: unknown): PaymentPayload => ({
  protocolVersion,
  scheme,
  network,
  payload: Base64Text.encode(JSON.stringify(payload))
})
