/**
 * Watches how a Node response ends, of HTTP/1.1 and of HTTP/2: delivered, or cut off before enough of it had left.
 * Every way in which a client can disconnect is an end: a reset stream, a closed connection, and on Node 20 a
 * connection that closes while the response still waits behind another one.
 */

import * as Result from "effect/Result"

/** The members of a connection that are used. */
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

/** Node's request. Its socket is `null` once undici has sent the request on as a body. */
export interface WatchableRequest {
  readonly socket: Watchable | null
  readonly headers?: { readonly upgrade?: string | undefined }
  /** Whether Node has handed its connection to a listener for `upgrade`. */
  readonly upgrade?: unknown
}

/** Node's response; `stream` with HTTP/2 only. */
export interface WatchableResponse {
  readonly destroyed?: boolean
  readonly closed?: boolean
  readonly headersSent: boolean
  /** Over HTTP/1.1 absent while other responses of the connection come first. */
  readonly socket?: object | null
  readonly stream?: WatchableStream
  readonly getHeaders: () => Readonly<Record<string, unknown>>
  readonly once: (event: string, listener: () => void) => WatchableResponse
}

/**
 * Bytes of a body that must leave the process before the response counts as delivered; half of the body if its length
 * is known and that is smaller. Otherwise a buyer who cuts a response just before its end would get another one.
 */
export const deliveredBytes = 64 * 1024

/** Responses in memory of which nothing has left, and for those that began to leave later the bytes since then. */
const held = new WeakMap<object, ByteMeter | "held">()

/**
 * Marks a response as held back: none of it is delivered, whatever its connection sends meanwhile and however it shows itself to
 * its writer. Call the returned function just before it leaves.
 */
export const holdBack = (response: object): (() => void) => {
  held.set(response, "held")
  return () => {
    const stream = streamOf(response)
    // Over HTTP/1.1 nothing leaves the connection while one of its responses is held.
    if (stream?.session === undefined) held.delete(response)
    else held.set(response, new ByteMeter(stream.session.socket))
  }
}

const streamOf = (response: Pick<WatchableResponse, "stream">): WatchableStream | undefined => response.stream

/** Whether the client has disconnected. */
export const isGone = ({ socket }: WatchableRequest, response: WatchableResponse): boolean => {
  const { stream } = response
  if (stream !== undefined) return stream.aborted || stream.closed || stream.destroyed
  return response.closed === true || response.destroyed === true || socket?.destroyed === true
}

/**
 * Whether a response has nothing to serve before its handler runs: its client has disconnected, or the application has answered by
 * itself, as its limit on the time of a response does. That answer may wait for its reader still.
 */
export const isTaken = (request: WatchableRequest, response: WatchableResponse): boolean =>
  isGone(request, response) || response.headersSent

/** Calls `notify` once with whether the response was delivered; at once if the client has already disconnected. */
export const watch = (
  request: WatchableRequest,
  response: WatchableResponse,
  notify: (delivered: boolean) => void
): void => {
  if (isGone(request, response)) return notify(false)
  const { stream } = response
  const { socket } = request
  const connection = stream?.session?.socket ?? socket ?? {}
  let meter = stream === undefined && !response.socket ? undefined : new ByteMeter(connection)
  const begin = () => {
    meter ??= new ByteMeter(connection)
  }
  let notified = false
  const read = (): number => {
    const counted = held.get(response) ?? meter
    return typeof counted === "object" ? counted.read() : 0
  }
  const hasBegun = () => held.get(response) !== "held" && response.headersSent
  const over = (finished: boolean) => {
    if (notified) return
    notified = true
    leave()
    notify(finished || (hasBegun() && read() >= bytesToDeliver(response)))
  }
  const close = () => over(false)
  const finish = () => over(stream === undefined ? socket?.destroyed !== true : isFinished(stream))
  response.once("socket", begin).once("finish", finish).once("close", close)
  /**
   * A stream that is reset without an error while its response waits for the client to read emits `end` and never
   * `close`.
   */
  stream?.once("end", () => {
    if (stream.closed && stream.writableLength > 0) close()
  })
  /** Over HTTP/2 a request's socket stands for its stream, so the session is watched. */
  const leave = onBreak(stream === undefined ? (socket ?? undefined) : stream.session, {
    broken: read,
    closed: close
  })
}

interface BreakListener {
  readonly broken: () => unknown
  readonly closed: () => void
}

const waiting = new WeakMap<object, Set<BreakListener>>()

/** Uses one listener per connection, for any number of pending requests on it. */
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

/** Whether a stream finished: a response over HTTP/2 emits `finish` whenever its stream closes, for any reason. */
const isFinished = ({ aborted, writableFinished }: WatchableStream): boolean => writableFinished && !aborted

/** Bytes of head and body, because the meter counts from the first byte of the head. */
const bytesToDeliver = (response: WatchableResponse): number => {
  const headers = response.getHeaders()
  const length = Number(headers["content-length"] ?? Number.NaN)
  const body = Number.isNaN(length) ? deliveredBytes : Math.min(deliveredBytes, Math.ceil(length / 2))
  return body + JSON.stringify(headers).length
}

/**
 * Counts the bytes that left a connection since the meter was made: given to the system, not waiting in this process.
 * Over HTTP/2 other streams of the connection count too.
 */
class ByteMeter {
  readonly #socket: object
  /** Node's own handle; it keeps the counts after the socket has released it. */
  readonly #handle: object
  readonly #before: number
  #lost: number | undefined

  constructor(socket: object) {
    this.#socket = socket
    const handle = valueIn(socket, "_handle")
    this.#handle = typeof handle === "object" && handle !== null ? handle : {}
    this.#before = this.#bytes()
  }

  /**
   * The bytes sent so far. Read first when the connection breaks: bytes that wait then are dropped, and would count as
   * sent later.
   */
  readonly read = (): number => {
    this.#lost ??= this.#bytes() - this.#before
    return this.#lost
  }

  #bytes(): number {
    const written = numberIn(this.#handle, "bytesWritten") ?? numberIn(this.#socket, "bytesWritten") ?? 0
    return written - (numberIn(this.#handle, "writeQueueSize") ?? 0)
  }
}

/** The value of a member, or `undefined`: the socket of an HTTP/2 session throws once the session is over. */
const valueIn = (object: object, name: string): unknown =>
  Result.getOrUndefined(Result.try((): unknown => Reflect.get(object, name)))

const numberIn = (object: object, name: string): number | undefined => {
  const value = valueIn(object, name)
  return typeof value === "number" ? value : undefined
}
