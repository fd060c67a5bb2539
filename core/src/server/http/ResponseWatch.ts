/**
 * How a response of Node's ended, of HTTP/1.1 and of HTTP/2: whether its answer was delivered, or cut off before enough of
 * it had left. Every way in which a client can go is an end: a reset stream, a closed connection, and on Node 20 a
 * connection that closes while the response still waits behind another one.
 */

import * as Result from "effect/Result"

/** A connection, as far as it is looked at. */
export interface Watchable {
  readonly destroyed: boolean
  readonly once: (event: string, listener: () => void) => unknown
}

/** The stream of a response over HTTP/2. */
export interface WatchableStream {
  readonly destroyed: boolean
  readonly aborted: boolean
  readonly closed: boolean
  readonly writableFinished: boolean
  readonly writableLength: number
  readonly session: (Watchable & { readonly socket: object }) | undefined
  readonly once: (event: string, listener: () => void) => unknown
}

/** Node's request. */
export interface WatchableRequest {
  readonly socket: Watchable
}

/** Node's response; `stream` with HTTP/2 only. */
export interface WatchableResponse {
  readonly destroyed?: boolean
  readonly closed?: boolean
  readonly headersSent: boolean
  /** Over HTTP/1.1 there is none while other responses of the connection come first. */
  readonly socket?: object | null
  readonly stream?: WatchableStream
  readonly getHeaders: () => Readonly<Record<string, unknown>>
  readonly once: (event: string, listener: () => void) => WatchableResponse
}

/**
 * An answer counts as delivered once so many bytes of its body have left the process; half of the body does where its
 * length is known and smaller. Otherwise a buyer who cuts an answer just before its end would get another one.
 */
export const deliveredBytes = 64 * 1024

/** Whether the client has gone: nobody waits for the response. */
export const isGone = ({ socket }: WatchableRequest, response: WatchableResponse): boolean => {
  const { stream } = response
  if (stream !== undefined) return stream.aborted || stream.closed || stream.destroyed
  return response.closed === true || response.destroyed === true || socket.destroyed
}

/** Tells once whether the answer was delivered. At once where the client has gone already. */
export const watch = (
  request: WatchableRequest,
  response: WatchableResponse,
  tell: (delivered: boolean) => void
): void => {
  if (isGone(request, response)) return tell(false)
  const { stream } = response
  const connection = stream?.session?.socket ?? request.socket
  let meter = stream === undefined && !response.socket ? undefined : new ByteMeter(connection)
  const begin = () => {
    meter ??= new ByteMeter(connection)
  }
  let told = false
  const over = (finished: boolean) => {
    if (told) return
    told = true
    leave()
    tell(finished || (response.headersSent && (meter?.read() ?? 0) >= bytesToDeliver(response)))
  }
  const close = () => over(false)
  const finish = () => over(stream === undefined ? !request.socket.destroyed : isFinished(stream))
  response.once("socket", begin).once("finish", finish).once("close", close)
  /** A stream that is reset without an error, while its answer waits for the client to read, ends and never closes. */
  stream?.once("end", () => {
    if (stream.closed && stream.writableLength > 0) close()
  })
  /** The socket of a request over HTTP/2 stands for its stream. */
  const leave = onBreak(stream === undefined ? request.socket : stream.session, {
    broken: () => meter?.read(),
    closed: close
  })
}

interface BreakListener {
  readonly broken: () => unknown
  readonly closed: () => void
}

const waiting = new WeakMap<object, Set<BreakListener>>()

/** One listener for a connection, however many requests of it are under way. */
const onBreak = (connection: Watchable | undefined, listener: BreakListener): (() => void) => {
  if (connection === undefined) return () => {}
  const listeners = waiting.get(connection) ?? new Set()
  if (!waiting.has(connection)) {
    waiting.set(connection, listeners)
    connection.once("error", () => listeners.forEach(({ broken }) => broken()))
    connection.once("close", () => listeners.forEach(({ closed }) => closed()))
  }
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** A response over HTTP/2 emits `finish` when its stream closes, for whatever reason. */
const isFinished = ({ aborted, writableFinished }: WatchableStream): boolean => writableFinished && !aborted

/** Head and body, as what has left is counted from the first byte of the head. */
const bytesToDeliver = (response: WatchableResponse): number => {
  const headers = response.getHeaders()
  const length = Number(headers["content-length"] ?? Number.NaN)
  const body = Number.isNaN(length) ? deliveredBytes : Math.min(deliveredBytes, Math.ceil(length / 2))
  return body + JSON.stringify(headers).length
}

/**
 * The bytes that have left a connection since the meter was made: given to the system, and not waiting in this process.
 * Over HTTP/2 other streams of the connection count too.
 */
class ByteMeter {
  readonly #socket: object
  /** Node's own handle still tells when the socket has let go of it. */
  readonly #handle: object
  readonly #before: number
  #lost: number | undefined

  constructor(socket: object) {
    this.#socket = socket
    const handle = valueIn(socket, "_handle")
    this.#handle = typeof handle === "object" && handle !== null ? handle : {}
    this.#before = this.#bytes()
  }

  /** Read first when the connection breaks: what waits then is dropped, and would count as gone later. */
  readonly read = (): number => {
    this.#lost ??= this.#bytes() - this.#before
    return this.#lost
  }

  #bytes(): number {
    const written = numberIn(this.#handle, "bytesWritten") ?? numberIn(this.#socket, "bytesWritten") ?? 0
    return written - (numberIn(this.#handle, "writeQueueSize") ?? 0)
  }
}

/** The socket of an HTTP/2 session throws once the session is over. */
const valueIn = (object: object, name: string): unknown =>
  Result.getOrUndefined(Result.try((): unknown => Reflect.get(object, name)))

const numberIn = (object: object, name: string): number | undefined => {
  const value = valueIn(object, name)
  return typeof value === "number" ? value : undefined
}
