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
  let isOver = false
  let own: OwnHeaders | undefined
  noteOuter(response)
  const add = (given: ReadonlyArray<unknown>): void => {
    const bytes = bytesOf(given[0], given[1])
    if (bytes === undefined) return
    length += bytes.length
    if (length > maximumBytes) chunks.length = 0
    else chunks.push(bytes)
  }
  before(response, "writeHead", (given) => {
    own ??= ownHeaders(given, response)
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
      if (isOver) return
      isOver = true
      ResponseSeal.applyUnsent(response)
      const headers = headersOf(response, own)
      const isCopied = length <= maximumBytes && isWhole(headers, length)
      const status = own?.status ?? response.statusCode
      take(isCopied ? { status, headers, body: BoundedBody.join(chunks, length) } : undefined)
    }
  )
  // A writer that breaks its response off ends it too.
  before(response, "destroy", () => {
    if (isOver) return
    isOver = true
    take(undefined)
  })
}

/** Calls `see` with the arguments before a method runs, and `then` once after its first run. */
const before = (
  response: CapturedResponse,
  name: "writeHead" | "write" | "end" | "destroy",
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

/**
 * The part of a head that the application itself has written. Outer middleware adds to it while it is written: a compression announces its
 * encoding then, and the copy has the bytes before it; a session sets its cookie, which is of this request and not of the goods.
 */
interface OwnHeaders {
  readonly status: number | undefined
  readonly encoding: string | undefined
  readonly cookies: ReadonlyArray<string>
}

/** The cookies that outer middleware had set on a response before the gate let its handler run. */
const outerCookies = new WeakMap<object, ReadonlyArray<string>>()

/** Notes the cookies of outer middleware. Call it before the handler runs; the first call counts. */
export const noteOuter = (response: Pick<CapturedResponse, "getHeaders">): void => {
  if (!outerCookies.has(response)) outerCookies.set(response, cookiesIn(response.getHeaders()["set-cookie"]))
}

/** The status is `undefined` where `writeHead` is not given one. */
const ownHeaders = (given: ReadonlyArray<unknown>, response: CapturedResponse): OwnHeaders => {
  const [status] = given
  const earlier = outerCookies.get(response) ?? []
  const written = Object.entries(ResponseSeal.headersIn(given.at(-1)))
  const valueOf = (name: string) =>
    written.find(([one]) => one.toLowerCase() === name)?.[1] ?? response.getHeaders()[name]
  return {
    status: typeof status === "number" ? status : undefined,
    encoding: ResponseSeal.textOf(valueOf("content-encoding")),
    cookies: cookiesIn(valueOf("set-cookie")).filter((cookie) => !earlier.includes(cookie))
  }
}

const cookiesIn = (value: unknown): ReadonlyArray<string> => (value === undefined ? [] : [value].flat().map(String))

/** The headers of a response, with those of its own where outer middleware has others. */
const headersOf = (response: CapturedResponse, own: OwnHeaders | undefined): ReadonlyArray<KeptHeader> => {
  const headers = headersNow(response)
  if (own === undefined) return headers
  return [
    ...headers.filter(([name]) => !/^(?:content-encoding|set-cookie)$/i.test(name)),
    ...(own.encoding === undefined ? [] : [["content-encoding", own.encoding] as const]),
    ...(own.cookies.length === 0 ? [] : [["set-cookie", own.cookies] as const])
  ]
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
