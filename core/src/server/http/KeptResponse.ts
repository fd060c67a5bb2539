/**
 * A served response that is kept for its payer, and its text in a store: status, headers and the bytes of the body.
 */
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/** A header's name and value; several values where the header came more than once, as `Set-Cookie` may. */
export type KeptHeader = readonly [name: string, value: string | ReadonlyArray<string>]

/** The response. */
export interface KeptResponse {
  readonly status: number
  readonly headers: ReadonlyArray<KeptHeader>
  readonly body: Uint8Array
}

/** Headers of one connection or one moment, which its server writes anew. */
const momentary: ReadonlySet<string> = new Set([
  "connection",
  "date",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade"
])

/** The headers without those of one connection or one moment, and without those of HTTP/2 that are no headers. */
export const lasting = (headers: ReadonlyArray<KeptHeader>): ReadonlyArray<KeptHeader> =>
  headers.filter(([name]) => !name.startsWith(":") && !momentary.has(name.toLowerCase()))

const Head = Schema.Tuple([
  Schema.Int,
  Schema.Array(Schema.Tuple([Schema.String, Schema.Union([Schema.String, Schema.Array(Schema.String)])])),
  Schema.Literals(["text", "base64"])
])
const decodeHead = Schema.decodeUnknownResult(Schema.fromJsonString(Head))

const utf8 = new TextEncoder()
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** The body as text, if its bytes are UTF-8 without the character zero, which some databases refuse in a text. */
const textOf = (body: Uint8Array): string | undefined => {
  if (body.includes(0)) return undefined
  return Result.getOrUndefined(Result.try(() => strict.decode(body)))
}

/** The response as one text: a line of JSON with its head, and its body after that line. */
export const encode = ({ body, headers, status }: KeptResponse): string => {
  const text = textOf(body)
  return text === undefined
    ? `${JSON.stringify([status, headers, "base64"])}\n${Base64.encode(body)}`
    : `${JSON.stringify([status, headers, "text"])}\n${text}`
}

/** Reads such a text; `undefined` if it is none. */
export const decode = (text: string): KeptResponse | undefined => {
  const end = text.indexOf("\n")
  const head = decodeHead(text.slice(0, Math.max(end, 0)))
  if (Result.isFailure(head)) return undefined
  const [status, headers, form] = head.success
  const rest = text.slice(end + 1)
  const body = form === "text" ? utf8.encode(rest) : Result.getOrUndefined(Base64.decode(rest))
  return body && { status, headers, body }
}
