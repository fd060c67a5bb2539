/**
 * Copies a Node response while it is written, of HTTP/1.1 and of HTTP/2: its bytes as they leave the application and
 * all outer middleware. The copy is complete when the response's writer has ended it, whether or not its client is
 * still there.
 */
import * as BoundedBody from "../../wire/http/BoundedBody.ts"
import { type KeptResponse, type KeptHeader, lasting } from "./KeptResponse.ts"
import * as ResponseSeal from "./ResponseSeal.ts"

/** The members of Node's response that are used. */
export interface CapturedResponse {
  readonly headersSent: boolean
  readonly statusCode: number
  readonly getHeaders: () => Readonly<Record<string, unknown>>
}

/**
 * Calls `take` once when the writer ends the response: with the whole response, or with `undefined` if its body exceeds
 * `maximumBytes` or has another length than its `Content-Length` says.
 */
export const copy = (
  response: CapturedResponse,
  maximumBytes: number,
  take: (response: KeptResponse | undefined) => void
): void => {
  const chunks: Array<Uint8Array> = []
  let length = 0
  let ended = false
  let written: { readonly encoding: string | undefined } | undefined
  const add = (given: ReadonlyArray<unknown>): void => {
    const bytes = bytesOf(given[0], given[1])
    if (bytes === undefined) return
    length += bytes.length
    if (length > maximumBytes) chunks.length = 0
    else chunks.push(bytes)
  }
  // Outer middleware that compresses announces its encoding later, while the head is written; the copy has the bytes before it.
  before(response, "writeHead", (given) => {
    written ??= { encoding: encodingIn(given, response) }
  })
  // The `end` of HTTP/2 calls `write` itself.
  before(response, "write", (given) => {
    if (!ended) add(given)
  })
  before(
    response,
    "end",
    (given) => {
      if (!ended) add(given)
      ended = true
    },
    () => {
      ResponseSeal.applyUnsent(response)
      const headers = headersOf(response, written)
      const isCopied = length <= maximumBytes && isWhole(headers, length)
      take(isCopied ? { status: response.statusCode, headers, body: BoundedBody.join(chunks, length) } : undefined)
    }
  )
}

/** Calls `see` with the arguments before a method runs, and `then` once after its first run. */
const before = (
  response: CapturedResponse,
  name: "writeHead" | "write" | "end",
  see: (given: ReadonlyArray<unknown>) => void,
  then?: () => void
): void => {
  const method: unknown = Reflect.get(response, name)
  if (typeof method !== "function") return
  let next = then
  Reflect.set(response, name, (...given: ReadonlyArray<unknown>): unknown => {
    see(given)
    const returned: unknown = Reflect.apply(method, response, given)
    const call = next
    next = undefined
    call?.()
    return returned
  })
}

/** A copy of the bytes of a chunk as Node writes it: its writer may use its buffer again. `undefined` for what is no chunk. */
export const bytesOf = (chunk: unknown, encoding: unknown): Uint8Array | undefined => {
  if (chunk instanceof Uint8Array) return new Uint8Array(chunk)
  if (typeof chunk !== "string") return undefined
  return encoding === undefined || typeof encoding !== "string" || /^utf-?8$/i.test(encoding)
    ? utf8.encode(chunk)
    : encoded(chunk, encoding)
}

const utf8 = new TextEncoder()

/** Node's own encodings, such as `latin1`; a host without them writes UTF-8. */
const encoded = (text: string, encoding: string): Uint8Array => {
  const { Buffer: buffers }: WithBuffers = globalThis
  return buffers === undefined ? utf8.encode(text) : new Uint8Array(buffers.from(text, encoding))
}

interface WithBuffers {
  readonly Buffer?: { readonly from: (text: string, encoding: string) => Uint8Array }
}

/** The `Content-Encoding` of a response at a call of `writeHead`, whose last argument may have headers too. */
const encodingIn = (given: ReadonlyArray<unknown>, response: CapturedResponse): string | undefined => {
  const own = Object.entries(ResponseSeal.headersIn(given.at(-1))).find(([name]) => isEncoding(name))?.[1]
  return ResponseSeal.textOf(own ?? response.getHeaders()["content-encoding"])
}

const isEncoding = (name: string): boolean => name.toLowerCase() === "content-encoding"

/** The headers of a response, with the encoding that its bytes were written in. */
const headersOf = (
  response: CapturedResponse,
  written: { readonly encoding: string | undefined } | undefined
): ReadonlyArray<KeptHeader> => {
  const headers = headersNow(response)
  if (written === undefined) return headers
  const others = headers.filter(([name]) => !isEncoding(name))
  return written.encoding === undefined ? others : [...others, ["content-encoding", written.encoding]]
}

const headersNow = (response: CapturedResponse): ReadonlyArray<KeptHeader> =>
  lasting(
    Object.entries(response.getHeaders()).flatMap(([name, value]): ReadonlyArray<KeptHeader> => {
      if (Array.isArray(value)) return [[name, value.map(String)]]
      return typeof value === "string" || typeof value === "number" ? [[name, `${value}`]] : []
    })
  )

const isWhole = (headers: ReadonlyArray<KeptHeader>, length: number): boolean => {
  const announced = headers.find(([name]) => name.toLowerCase() === "content-length")?.[1]
  return announced === undefined || announced === `${length}`
}
