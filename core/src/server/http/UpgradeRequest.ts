/**
 * Requests that ask for another protocol on their connection, as a WebSocket does. A handler that takes it up writes on the
 * connection itself, and Node's response sees nothing of it.
 */
import type { GateResponse } from "./GateResponse.ts"
import type { WatchableRequest } from "./ResponseWatch.ts"

/** Whether a request asks for a WebSocket. Clients ask for other protocols too (`h2c`), and take a response without one. */
export const isWebSocket = ({ headers }: WatchableRequest): boolean => /\bwebsocket\b/i.test(headers?.upgrade ?? "")

/** The response to a paid request for a WebSocket on a route that cannot charge for one. */
export const refusal: GateResponse = {
  status: 500,
  headers: { "Content-Type": "application/json", "Cache-Control": "no-store" },
  body: JSON.stringify({
    error:
      'This route cannot sell a WebSocket: with settle: "after-handler", and by a meter, only a response is charged. The payment is unused. Sell the WebSocket by a route of its own whose money moves first.'
  })
}

/**
 * Calls `see` once, just before another protocol begins on the connection of a request: when 101 is written on it, or anything that
 * is no HTTP where Node has handed the connection over. Stop it with the returned function once the response is over.
 */
export const onUpgrade = (
  request: WatchableRequest,
  response: { readonly headersSent: boolean },
  see: () => void
): (() => void) => {
  const { headers, socket } = request
  // Without regard to `Connection`, as servers of WebSockets read it.
  if (socket === null || headers?.upgrade === undefined) return () => undefined
  const write: unknown = Reflect.get(socket, "write")
  if (typeof write !== "function") return () => undefined
  let isOver = false
  const own = Object.hasOwn(socket, "write")
  const watched = (...given: ReadonlyArray<unknown>): unknown => {
    if (!isOver && begins(request, response, given[0])) {
      isOver = true
      see()
    }
    return Reflect.apply(write, socket, given)
  }
  Reflect.set(socket, "write", watched)
  return () => {
    isOver = true
    if (Reflect.get(socket, "write") !== watched) return
    if (own) Reflect.set(socket, "write", write)
    else Reflect.deleteProperty(socket, "write")
  }
}

const begins = (request: WatchableRequest, { headersSent }: { readonly headersSent: boolean }, chunk: unknown) => {
  const text = beginOf(chunk)
  if (text.startsWith("HTTP/1.")) return /^HTTP\/1\.[01] 101\b/.test(text)
  return request.upgrade === true && !headersSent
}

const beginOf = (chunk: unknown): string => {
  if (typeof chunk === "string") return chunk.slice(0, 13)
  return chunk instanceof Uint8Array ? String.fromCodePoint(...chunk.subarray(0, 13)) : ""
}
