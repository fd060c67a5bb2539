/** Finds a signed receipt in what a buyer has kept: a command's JSON, a response's header, or the receipt itself. */
import { SignedReceipt } from "@pontage/core"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

const decode = Schema.decodeUnknownOption(SignedReceipt.SignedReceipt)

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The value at a path of own fields. */
const at = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>(
    (inner, name) => (isObject(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined),
    value
  )

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The JSON of a header: itself, or its base64. */
const headerJson = (value: unknown): unknown =>
  typeof value === "string" ? (jsonOf(value) ?? jsonOf(Buffer.from(value, "base64").toString("utf8"))) : undefined

const inReceipt = (json: unknown): ReadonlyArray<unknown> => [
  json,
  at(json, "signedReceipt"),
  at(json, "extensions", "offer-receipt", "info", "receipt")
]

/** The first receipt in a text; `undefined` for none. The fields must be whole; the signature is not verified here. */
export const find = (text: string): SignedReceipt.SignedReceipt | undefined => {
  const json = headerJson(text.trim())
  const headers = ["x-payment-response", "payment-response"].map((name) => headerJson(at(json, "headers", name)))
  for (const candidate of [json, ...headers].flatMap((one) => inReceipt(one))) {
    const receipt = Option.getOrUndefined(decode(candidate))
    if (receipt !== undefined) return receipt
  }
  return undefined
}
