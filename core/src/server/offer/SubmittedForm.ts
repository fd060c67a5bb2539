/**
 * The form that a browser has sent to a sold address by POST, for the page that sends it again with the payment: its bytes, or the reason
 * why the page must not have them.
 */
import * as Effect from "effect/Effect"

import type { GateRequest } from "../http/Decision.ts"
import * as Navigation from "../http/Navigation.ts"
import * as RequestBody from "../http/RequestBody.ts"
import type * as UnreadBody from "../http/UnreadBody.ts"
import { maximumFormBytes, type PaywallForm } from "../shop/Paywall.ts"

const utf8 = new TextEncoder()

const urlencoded = "application/x-www-form-urlencoded"

/**
 * Reads the form of a request that is one. Its body stays unread for others: Node discards the rest of an unread body, and a
 * browser shows no response before it has sent all. Fails if the body breaks off.
 */
export const read = (request: GateRequest): Effect.Effect<PaywallForm, UnreadBody.BodyLost> => {
  if (isStrangers(request)) return Effect.succeed({ _tag: "Elsewhere" })
  return RequestBody.bytesOf(request, maximumFormBytes).pipe(
    Effect.map((bytes) =>
      bytes === undefined ? rebuilt(request) : keptOf(RequestBody.headerOf(request, "content-type"), bytes)
    ),
    Effect.catchTag("BodyTooLong", () => Effect.succeed<PaywallForm>({ _tag: "TooLong" }))
  )
}

/**
 * Whether another site may have sent the form. The page repeats a form with the cookies and the origin of the shop, which such a form must
 * not get.
 */
export const isStrangers = (request: GateRequest): boolean => !Navigation.isFromOwnPage(request)

/**
 * Whether the bytes are in the encoding that the content type names. A host whose parser ran earlier may give a form that it has encoded
 * anew, with another boundary than that of the content type.
 */
const isIn = (contentType: string, bytes: Uint8Array): boolean => {
  const boundary = /^\s*multipart\/.*;\s*boundary="?([^";]+)/i.exec(contentType)?.[1]
  if (boundary !== undefined) return utf8.encode(`--${boundary}`).every((byte, index) => bytes[index] === byte)
  return !/^\s*multipart/i.test(contentType) && !(contentType.includes(urlencoded) && bytes.includes(carriageReturn))
}

const carriageReturn = 13

/**
 * The form from the text or the fields that the host's parser has read, where each field is a text or a list of at least two: the same parser gives the same
 * fields for it again. Nested fields and files do not come back like that.
 */
const rebuilt = (request: GateRequest): PaywallForm => {
  const { body } = request
  if (typeof body === "string") return keptOf(RequestBody.headerOf(request, "content-type"), utf8.encode(body))
  const isFields = RequestBody.headerOf(request, "content-type").trim().toLowerCase().startsWith(urlencoded)
  if (!isFields || typeof body !== "object" || body === null || body instanceof Uint8Array) return { _tag: "Unread" }
  const fields = new URLSearchParams()
  for (const [name, value] of Object.entries(body)) {
    const values: ReadonlyArray<unknown> = Array.isArray(value) ? value : [value]
    if (Array.isArray(value) && value.length < 2) return { _tag: "Unread" }
    for (const one of values) {
      if (typeof one !== "string") return { _tag: "Unread" }
      fields.append(name, one)
    }
  }
  return keptOf(urlencoded, utf8.encode(fields.toString()))
}

const keptOf = (contentType: string, body: Uint8Array): PaywallForm => {
  if (body.length > maximumFormBytes) return { _tag: "TooLong" }
  return isIn(contentType, body) ? { _tag: "Kept", contentType, body } : { _tag: "Unread" }
}
