/**
 * The digest of a request's body, for routes that bind a payment to it (`bind: "body"`): of its bytes if they are
 * available, else of the value that the host's parser made of them. The application reads one of the two, so that
 * another body has another digest. An unavailable body is an error, never an empty body.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"

import type { HashFunctions } from "../../platform/Hash.ts"
import * as CanonicalText from "../../protocol/text/CanonicalText.ts"
import type { GateRequest } from "./Decision.ts"
import * as RequestBody from "./RequestBody.ts"
import type * as UnreadBody from "./UnreadBody.ts"

/** Maximum length in bytes of a body that a payment is bound to. */
export const maximumBytes = 1024 * 1024

/** The host gives neither the body's bytes nor a value that identifies it. `message` says what to change. */
export class BodyUnavailable extends Data.TaggedError("BodyUnavailable")<{ readonly message: string }> {}

/** The failures that prevent a binding to a body. */
export type Unbindable = BodyUnavailable | UnreadBody.BodyTooLong | UnreadBody.BodyLost

const utf8 = new TextEncoder()

/** SHA-256 of the body, base64url. */
export const digest = (hash: HashFunctions, request: GateRequest): Effect.Effect<string, Unbindable> =>
  request.bodyDigest === undefined
    ? Effect.flatMap(contentOf(request), (content) => Effect.map(hash.sha256(content), Base64Url.encode))
    : Effect.succeed(request.bodyDigest)

const contentOf = (request: GateRequest): Effect.Effect<Uint8Array, Unbindable> =>
  Effect.flatMap(RequestBody.bytesOf(request, maximumBytes), (bytes) => {
    if (bytes !== undefined) return Effect.succeed(bytes.length === 0 ? bytes : described(request, bytes))
    const { body } = request
    const text = isForm(request) || body === undefined || body === null ? undefined : CanonicalText.of(body)
    return text === undefined ? Effect.fail(unavailable) : Effect.succeed(utf8.encode(`parsed\n${text}`))
  })

/**
 * Puts content type and encoding before the bytes, because the same bytes are another body under another type or
 * encoding. Header values hold no line end.
 */
const described = (request: GateRequest, bytes: Uint8Array): Uint8Array => {
  const head = utf8.encode(
    `bytes\n${RequestBody.headerOf(request, "content-type")}\n${RequestBody.headerOf(request, "content-encoding")}\n`
  )
  const all = new Uint8Array(head.length + bytes.length)
  all.set(head)
  all.set(bytes, head.length)
  return all
}

/** Whether the body is a multipart form, whose parsers keep files apart from the fields. */
const isForm = (request: GateRequest): boolean => /^\s*multipart\//i.test(RequestBody.headerOf(request, "content-type"))

const unavailable = new BodyUnavailable({
  message:
    'bind: "body" found neither the body\'s bytes nor a parsed body: let the body parser keep the raw body, or place it behind the gate'
})
