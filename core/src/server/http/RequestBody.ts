/**
 * The bytes of a request's body, up to a limit, by the means that its host has. The body stays unread for the handler. A
 * body whose declared length exceeds the limit is refused by its header, before it comes.
 */
import * as Effect from "effect/Effect"

import type { GateRequest } from "./Decision.ts"
import * as UnreadBody from "./UnreadBody.ts"

const utf8 = new TextEncoder()

/** The bytes; empty where no body came, `undefined` where a parser has read it and kept none. */
export const bytesOf = (
  request: GateRequest,
  maximumBytes: number
): Effect.Effect<Uint8Array | undefined, UnreadBody.BodyTooLong | UnreadBody.BodyLost> => {
  const { body, copy, rawBody, stream } = request
  const tooLong = Effect.fail(new UnreadBody.BodyTooLong({ maximumBytes }))
  const bounded = (bytes: Uint8Array) => (bytes.length > maximumBytes ? tooLong : Effect.succeed(bytes))
  if (Number(headerOf(request, "content-length")) > maximumBytes) return tooLong
  if (rawBody !== undefined) return bounded(typeof rawBody === "string" ? utf8.encode(rawBody) : rawBody)
  if (copy !== undefined) {
    return Effect.flatMap(copied(copy, maximumBytes), (bytes) =>
      bytes === undefined || (bytes.length === 0 && hasBody(request)) ? Effect.undefined : bounded(bytes)
    )
  }
  if (!hasBody(request)) return Effect.succeed(new Uint8Array())
  if (stream !== undefined && UnreadBody.isUnread(stream)) return UnreadBody.bytesOf(stream, maximumBytes)
  return body instanceof Uint8Array ? bounded(body) : Effect.undefined
}

const copied = (copy: NonNullable<GateRequest["copy"]>, maximumBytes: number) =>
  Effect.tryPromise({ try: () => copy(maximumBytes + 1), catch: () => UnreadBody.brokenOff })

/**
 * In HTTP/1 these two fields say whether a body follows. HTTP/2 may omit both, and a host without a stream may leave
 * them out.
 */
const hasBody = (request: GateRequest): boolean => {
  const length = headerOf(request, "content-length")
  if (length !== "") return !/^0+$/.test(length)
  const { body, copy, stream } = request
  // A copy tells by itself whether chunks came.
  if (copy !== undefined) return false
  if (headerOf(request, "transfer-encoding") !== "") return true
  return stream === undefined ? body !== undefined && body !== null : stream.httpVersionMajor >= 2
}

/** The values of a header as one text; empty without it. */
export const headerOf = ({ header }: Pick<GateRequest, "header">, name: string): string =>
  [header(name) ?? ""].flat().join(", ")
