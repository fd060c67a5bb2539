/**
 * A request body that can be sent twice. A body that `fetch` reads only once is first read into memory, up to a limit;
 * a body that the caller could change between the two requests is copied.
 */
import { decline } from "@pontage/core"

/** A body that can be sent any number of times. */
export interface RepeatableBody {
  readonly body: BodyInit | null
  /** The content type of the body, if the caller has set none and `fetch` would not set it either. */
  readonly contentType: string | undefined
}

/**
 * The body of a call in a repeatable form; a promise if it replaces the caller's own from the first request on, because
 * that one has to be read or encoded. A stream longer than the limit rejects with `PaymentDeclined`
 * (`body_not_repeatable`) before anything is sent; a part of it has been read by then.
 */
export const fromBody = (
  body: BodyInit | AsyncIterable<unknown> | null | undefined,
  maximumBytes: number,
  signal: AbortSignal | undefined
): RepeatableBody | Promise<RepeatableBody> => {
  if (body === null || body === undefined) return asIs(null)
  if (typeof body !== "object" || body instanceof Blob) return asIs(body)
  if (body instanceof URLSearchParams) return asIs(new URLSearchParams(body))
  if (isBuffer(body)) return asIs(body.slice())
  if (ArrayBuffer.isView(body)) return asIs(new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice())
  if (kindOf(body) === "FormData" && "entries" in body) return encode([...body.entries()])
  if (isStream(body)) return collect(streamOf(body), maximumBytes, signal).then(asIs)
  throw decline("body_not_repeatable", unknown)
}

const unknown =
  "the request's body is an object whose bytes are unknown; give a string, bytes, a Blob, a FormData or a stream"

const asIs = (body: BodyInit | null): RepeatableBody => ({ body, contentType: undefined })

/** The name of an object's class: packages such as undici and node-fetch have classes of their own beside the platform's. */
const kindOf = (body: object): string => Object.prototype.toString.call(body).slice(8, -1)

const isBuffer = (body: object): body is ArrayBuffer => kindOf(body) === "ArrayBuffer"

/** A part of a form: a text, or a file of any class. */
type FormPart = string | Pick<File, "arrayBuffer" | "name" | "type">

/**
 * Encodes a form once: another encoding of the same form has another boundary, and would be another body to the server.
 */
const encode = async (entries: ReadonlyArray<readonly [string, FormPart]>): Promise<RepeatableBody> => {
  const form = new FormData()
  for (const [name, value] of entries) {
    if (typeof value === "string") form.append(name, value)
    // oxlint-disable-next-line no-await-in-loop -- one part after the other
    else form.append(name, value instanceof Blob ? value : new Blob([await value.arrayBuffer()], value), value.name)
  }
  const encoded = new Response(form)
  return { body: await encoded.arrayBuffer(), contentType: encoded.headers.get("content-type") ?? undefined }
}

/** Whether a body is an asynchronous iterable, which Node's `fetch` accepts too. */
const streamOf = (body: ReadableStream | AsyncIterable<unknown>): ReadableStream<unknown> => {
  if (body instanceof ReadableStream) return body
  const iterator = body[Symbol.asyncIterator]()
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await iterator.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
    cancel: async () => void (await iterator.return?.())
  })
}

const isStream = (body: BodyInit | AsyncIterable<unknown>): body is ReadableStream | AsyncIterable<unknown> =>
  typeof body === "object" && (body instanceof ReadableStream || Symbol.asyncIterator in body)

const collect = async (
  stream: ReadableStream<unknown>,
  maximumBytes: number,
  signal: AbortSignal | undefined
): Promise<ArrayBuffer> => {
  let length = 0
  const bounded = new TransformStream<unknown, Uint8Array<ArrayBuffer>>({
    transform: (chunk, controller) => {
      const bytes = bytesOf(chunk)
      length += bytes.byteLength
      if (length > maximumBytes) throw tooLong(maximumBytes)
      controller.enqueue(bytes)
    }
  })
  return new Response(stream.pipeThrough(bounded, signal === undefined ? {} : { signal })).arrayBuffer()
}

const bytesOf = (chunk: unknown): Uint8Array<ArrayBuffer> => {
  if (chunk instanceof Uint8Array) return new Uint8Array(chunk)
  if (typeof chunk === "string") return new TextEncoder().encode(chunk)
  throw new TypeError("a stream that is a request's body must be of bytes")
}

const tooLong = (maximumBytes: number) =>
  decline(
    "body_not_repeatable",
    `the request's body is a stream of more than ${maximumBytes} bytes, which cannot be sent a second time with a payment; give a string, bytes or a Blob, or raise maxBodyBytes`
  )

/**
 * The content of a body, to tell requests apart. The boundary of a form is left out: it differs at each encoding of the
 * same form.
 */
export const contentOf = async (body: BodyInit | null, contentType: string | null): Promise<Uint8Array> => {
  if (body === null) return new Uint8Array()
  const bytes = await new Response(body).arrayBuffer()
  const boundary = /^multipart\/[^;]+;.*boundary="?([^";]+)/i.exec(contentType ?? "")?.[1]
  if (boundary === undefined) return new Uint8Array(bytes)
  // One character per byte, so that nothing is lost in any part.
  return new TextEncoder().encode(new TextDecoder("latin1").decode(bytes).replaceAll(boundary, ""))
}
