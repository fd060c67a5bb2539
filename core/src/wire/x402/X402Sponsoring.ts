/**
 * The extension `eip2612GasSponsoring` of x402 version 2: a payer's approval of Permit2 by signature, beside the payment. Schemes
 * find it in their payload, as its field of that name (x402 specification, extensions/eip2612_gas_sponsoring).
 */
import type * as Schema from "effect/Schema"

import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import * as Shape from "../../protocol/Shape.ts"

const key = "eip2612GasSponsoring"

/** The part of a payment request that offers the extension. */
export const offered = {
  [key]: {
    info: { description: "The facilitator submits the approval of Permit2 by signature (EIP-2612)", version: "1" },
    schema: { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" }
  }
} as const satisfies Schema.JsonObject

/** Whether an offer is paid by Permit2 in a token whose EIP-712 domain is named, so that its approvals can be signed. */
export const isOffered = ({ extra = {} }: PaymentRequirements): boolean =>
  extra["assetTransferMethod"] === "permit2" && typeof extra["name"] === "string"

const memberOf = (value: unknown, name: string): unknown =>
  Shape.isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined

/** Whether extensions of a payment request have this one. */
export const isIn = (extensions: unknown): boolean => memberOf(extensions, key) !== undefined

/** The requirements with the mark by which a scheme client knows that the server takes an approval. */
export const marked = (requirements: PaymentRequirements): PaymentRequirements => ({
  ...requirements,
  extra: { ...requirements.extra, [key]: true }
})

/** A payment's payload with the approval that its extensions bring. One that is not signed is the server's own text, repeated. */
export const intoPayload = (
  payload: Readonly<Record<string, Schema.Json>>,
  extensions: unknown
): Readonly<Record<string, Schema.Json>> => {
  const info = memberOf(memberOf(extensions, key), "info")
  return Shape.isObject(info) && Object.hasOwn(info, "signature") ? { ...payload, [key]: info } : payload
}

/** A payload as x402 has it, and the extension with the approval that it brought; `undefined` without one. */
export const outOfPayload = (
  payload: Schema.Json
): { readonly payload: Schema.Json; readonly extension: Schema.JsonObject | undefined } => {
  if (!Shape.isObject(payload) || !Object.hasOwn(payload, key)) return { payload, extension: undefined }
  const { [key]: info = null, ...rest } = payload
  return { payload: rest, extension: { [key]: { info } } }
}

/** A payer's extensions with the approval in the server's own extension; unchanged without an approval. */
export const into = (extensions: Schema.Json, extension: Schema.JsonObject | undefined): Schema.Json => {
  if (extension === undefined || !Shape.isObject(extensions)) return extensions
  const info = memberOf(extension[key], "info")
  const declared = extensions[key]
  const [own, text] = [Shape.isObject(declared) ? declared : {}, memberOf(declared, "info")]
  return Object.assign({}, extensions, {
    [key]: Object.assign({}, own, { info: Object.assign({}, Shape.isObject(text) ? text : {}, info) })
  })
}
