/**
 * The checks of Node on a response, made while the handler writes it: its mistakes are its own errors, as without the gate, and
 * nothing is charged for them. Found later, they would end the process.
 */
import * as ResponseSeal from "../http/ResponseSeal.ts"

/** The status as Node takes it. Throws for one that Node does not send. */
export const statusOf = (status: unknown): number => {
  // oxlint-disable-next-line no-bitwise -- as Node: `"404"` is 404, and `undefined` is 0
  const whole = Number(status) | 0
  if (whole >= 100 && whole <= 999) return whole
  throw failure(RangeError, "ERR_HTTP_INVALID_STATUS_CODE", `Invalid status code: ${String(status)}`)
}

/** The status message as Node takes it. Throws for one with characters that no head can have. */
export const messageOf = (message: string | undefined): string => {
  if (message === undefined || /^[\t\x20-\x7e\x80-\xff]*$/.test(message)) return message ?? ""
  throw failure(TypeError, "ERR_INVALID_CHAR", "Invalid character in statusMessage")
}

/** Throws where a response announces a trailer that Node cannot send: over HTTP/1.1 only a body in chunks has one. */
export const demandTrailer = (response: {
  readonly statusCode: number
  readonly getHeader: (name: string) => unknown
}): void => {
  if (response.getHeader("Trailer") === undefined || Reflect.get(response, "stream") !== undefined) return
  const coding = response.getHeader("Transfer-Encoding")
  const isChunked =
    coding === undefined
      ? response.getHeader("Content-Length") === undefined && hasChunks(response)
      : /chunk/i.test(ResponseSeal.textOf(coding) ?? "")
  if (isChunked && response.statusCode !== 204 && response.statusCode !== 304) return
  throw failure(Error, "ERR_HTTP_TRAILER_INVALID", "Trailers are invalid with this transfer encoding")
}

/** Whether a body of unknown length goes in chunks: not to a client of HTTP/1.0, and HEAD has none. */
const hasChunks = (response: object): boolean =>
  !answersHead(response) && Reflect.get(response, "useChunkedEncodingByDefault") !== false

const answersHead = (response: object): boolean => {
  const request: unknown = Reflect.get(response, "req")
  return typeof request === "object" && request !== null && Reflect.get(request, "method") === "HEAD"
}

/** Whether a response has a body (RFC 9110, 6.4.1): Node sends none with these, whatever is written. */
export const hasBody = (response: { readonly statusCode: number }): boolean =>
  response.statusCode !== 204 && response.statusCode !== 304 && !answersHead(response)

/** The error of a part of a body that is none. */
export const noChunk = (chunk: unknown): TypeError => {
  const what = chunk === null ? "null" : typeof chunk
  return failure(TypeError, "ERR_INVALID_ARG_TYPE", `a part of a response is a string or a Uint8Array, got ${what}`)
}

/** Throws where the response demands of itself the length that it has announced, and its body has another one. */
export const demandLength = (
  response: { readonly statusCode: number; readonly getHeaders: () => Readonly<Record<string, unknown>> },
  length: number
): void => {
  const announced = response.getHeaders()["content-length"]
  if (announced === undefined || Reflect.get(response, "strictContentLength") !== true || !hasBody(response)) return
  if (Number(announced) === length) return
  const message = `the response has ${length} bytes, its Content-Length says ${Number(announced)}`
  throw failure(Error, "ERR_HTTP_CONTENT_LENGTH_MISMATCH", message)
}

const failure = <E extends Error>(make: new (message: string) => E, code: string, message: string): E =>
  Object.assign(new make(message), { code })
