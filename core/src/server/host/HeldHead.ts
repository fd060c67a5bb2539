/**
 * The checks of Node on a response, made while the handler writes it: its mistakes are its own errors, as without the gate, and
 * nothing is charged for them. Found later, they would end the process.
 */

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

/** The error of a part of a body that is none. */
export const noChunk = (chunk: unknown): TypeError => {
  const what = chunk === null ? "null" : typeof chunk
  return failure(TypeError, "ERR_INVALID_ARG_TYPE", `a part of a response is a string or a Uint8Array, got ${what}`)
}

/** Throws where the response demands of itself the length that it has announced, and has another one. */
export const demandLength = (
  response: { readonly getHeaders: () => Readonly<Record<string, unknown>> },
  length: number
): void => {
  const announced = response.getHeaders()["content-length"]
  if (announced === undefined || Reflect.get(response, "strictContentLength") !== true) return
  if (Number(announced) === length) return
  const message = `the response has ${length} bytes, its Content-Length says ${Number(announced)}`
  throw failure(Error, "ERR_HTTP_CONTENT_LENGTH_MISMATCH", message)
}

const failure = <E extends Error>(make: new (message: string) => E, code: string, message: string): E =>
  Object.assign(new make(message), { code })
