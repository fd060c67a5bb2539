/**
 * The texts of the Machine Payments Protocol (HTTP authentication scheme `Payment`): the parameters of a challenge, and
 * JSON as base64url without padding (draft-httpauth-payment-00).
 */
import * as Result from "effect/Result"

import * as Base64Text from "../../protocol/text/Base64Text.ts"
import { depthOf } from "../../protocol/text/JsonDepth.ts"

/** Maximum nesting of a credential: a challenge's request may hold any JSON. */
export const maximumDepth = 16

/** JSON as base64url without padding. */
export const encode = (value: unknown): string => fromBase64(Base64Text.encode(JSON.stringify(value)))

const fromBase64 = (text: string): string => text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")

/** Reads such a text; `undefined` if it is none, is nested too deep, or its bytes are not UTF-8. */
export const decode = (text: string): unknown => {
  if (!/^[A-Za-z0-9_-]*={0,2}$/.test(text)) return undefined
  const bare = text.replace(/=+$/, "").replaceAll("-", "+").replaceAll("_", "/")
  const json = Base64Text.decode(bare.padEnd(Math.ceil(bare.length / 4) * 4, "="))
  if (Result.isFailure(json) || depthOf(json.success) > maximumDepth) return undefined
  return Result.getOrUndefined(Result.try((): unknown => JSON.parse(json.success)))
}

/** A challenge as one line of a header: each parameter as a quoted string. */
export const challenge = (parameters: Readonly<Record<string, string>>): string =>
  `Payment ${Object.entries(parameters)
    .map(([name, value]) => `${name}="${value.replaceAll(/[\\"]/g, String.raw`\$&`)}"`)
    .join(", ")}`

/** The token of a credential in the text of its header; `undefined` if the text is in another scheme. */
export const tokenIn = (text: string): string | undefined => /^\s*payment +(\S+)\s*$/i.exec(text)?.[1]

/** Whether the text of a header is in this scheme, whatever follows. */
export const isPayment = (text: string): boolean => /^\s*payment(?:\s|$)/i.test(text)

/** Whether a text can be written as UTF-8: a lone surrogate cannot, and would be hashed as another character. */
export const isWellFormed = (text: string): boolean => !loneSurrogate.test(text)

const loneSurrogate = /\p{Surrogate}/u

/** Whether a JSON value holds only texts that can be written as UTF-8, as its canonical form (RFC 8785) demands. */
export const isPlain = (value: unknown): boolean => {
  if (typeof value === "string") return isWellFormed(value)
  if (typeof value !== "object" || value === null) return true
  return Object.entries(value).every(([name, field]) => isWellFormed(name) && isPlain(field))
}
