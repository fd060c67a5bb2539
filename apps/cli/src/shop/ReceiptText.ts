/** Finds signed receipts and offers in what a buyer has kept: a command's JSON, a response's header, or the statement itself. */
import { PurchaseReceipt, SignedOffer, SignedReceipt, type SignedStatement } from "@pontage/core"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

const decode = Schema.decodeUnknownOption(
  Schema.Union([PurchaseReceipt.PurchaseReceipt, SignedOffer.SignedOffer, SignedReceipt.SignedReceipt])
)

/** A statement, and the response's body beside it in a command's JSON. */
export interface Found {
  readonly signed: SignedStatement.SignedStatement
  readonly body: Uint8Array | undefined
}

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

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** The places of statements in a message, the receipts that say most first. */
const placesIn = (json: unknown): ReadonlyArray<unknown> => [
  json,
  at(json, "signedReceipt"),
  at(json, "extensions", PurchaseReceipt.extensionKey, "info", "receipt"),
  at(json, "extensions", "offer-receipt", "info", "receipt"),
  ...listOf(at(json, "extensions", "offer-receipt", "info", "offers"))
]

/** The `_meta` keys of tools' results, and the headers of responses. */
const metaKeys = ["x402/payment-response", "org.paymentauth/receipt"]
const headerNames = ["x-payment-response", "payment-response", "payment-receipt", "payment-required"]

const bodyIn = (json: unknown): Uint8Array | undefined => {
  const [text, base64] = [at(json, "body"), at(json, "bodyBase64")]
  if (typeof base64 === "string") return Buffer.from(base64, "base64")
  return typeof text === "string" ? Buffer.from(text) : undefined
}

/** The statements in a text. The fields must be whole; no signature is verified here. */
export const find = (text: string): ReadonlyArray<Found> => {
  const json = headerJson(text.trim())
  const messages = [
    json,
    ...headerNames.map((name) => headerJson(at(json, "headers", name))),
    ...metaKeys.map((key) => at(json, "_meta", key))
  ]
  const body = at(json, "headers") === undefined ? undefined : bodyIn(json)
  return messages.flatMap(placesIn).flatMap((one) => {
    const signed = Option.getOrUndefined(decode(one))
    return signed === undefined ? [] : [{ signed, body }]
  })
}
