/**
 * The extension `payment-identifier` of x402 version 2: a payer's own name for a payment, under which its response comes
 * again and no other payment is taken (x402 specification, extensions/payment_identifier).
 */
import type * as Schema from "effect/Schema"

import * as Shape from "../../protocol/Shape.ts"

const key = "payment-identifier"

/** The part of a payment request that offers the extension; an identifier is never demanded. */
export const offered = {
  [key]: {
    info: { required: false },
    schema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: { required: { type: "boolean" }, id: { type: "string", minLength: 16, maxLength: 128 } },
      required: ["required"]
    }
  }
} as const satisfies Schema.JsonObject

const isIdentifier = (value: unknown): value is string =>
  typeof value === "string" && /^[A-Za-z0-9_-]{16,128}$/.test(value)

const infoIn = (extensions: unknown): Readonly<Record<string, unknown>> | undefined => {
  const extension = memberOf(extensions, key)
  const info = memberOf(extension, "info")
  return Shape.isObject(info) ? info : undefined
}

const memberOf = (value: unknown, name: string): unknown =>
  Shape.isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined

/** The identifier in a payment's extensions; `undefined` without a well-formed one. */
export const of = (extensions: unknown): string | undefined => {
  const id = memberOf(infoIn(extensions), "id")
  return isIdentifier(id) ? id : undefined
}

/**
 * A payer's extensions: those of the payment request, with an identifier where the server offers that. It is made of the first and the
 * last characters of the payment's own signed bytes, so it is the same whenever the payment is sent again, and another one for another
 * nonce or signature.
 */
export const withIdentifier = (extensions: Schema.Json, payload: Schema.Json): Schema.Json => {
  const info = infoIn(extensions)
  const extension = memberOf(extensions, key)
  if (info === undefined || !Shape.isObject(extension) || !Shape.isObject(extensions)) return extensions
  const text = JSON.stringify(payload).replaceAll(/[^A-Za-z0-9]/g, "")
  const ends = text.length <= 124 ? text : text.slice(0, 60) + text.slice(-64)
  return Object.assign({}, extensions, {
    [key]: Object.assign({}, extension, { info: Object.assign({}, info, { id: `pay_${ends.padStart(16, "0")}` }) })
  })
}
