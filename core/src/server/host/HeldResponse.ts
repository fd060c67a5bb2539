/**
 * Holds a Node response back until its payment has settled, whoever writes it: head and body are kept in memory, up to
 * a limit, and leave when the host says so. For hosts whose handlers write the response themselves.
 */
import * as Effect from "effect/Effect"

import * as BoundedBody from "../../wire/http/BoundedBody.ts"
import type { HeaderFields } from "../../wire/pontage/Dialect.ts"
import type { Granted } from "../http/Decision.ts"
import type { GateResponse } from "../http/GateResponse.ts"
import type { KeptResponse } from "../http/KeptResponse.ts"
import * as ResponseCapture from "../http/ResponseCapture.ts"
import * as ResponseHeaders from "../http/ResponseHeaders.ts"
import * as ResponseSeal from "../http/ResponseSeal.ts"
import * as ResponseWatch from "../http/ResponseWatch.ts"
import * as HeldBody from "./HeldBody.ts"
import * as HeldHead from "./HeldHead.ts"

/** The members of Node's response that are used, of HTTP/1.1 and of HTTP/2. */
export interface NodeResponse extends ResponseSeal.SealableResponse {
  statusCode: number
  statusMessage?: string
  readonly getHeaders: () => Readonly<Record<string, unknown>>
  readonly setHeader: (name: string, value: string | ReadonlyArray<string>) => unknown
  readonly removeHeader: (name: string) => unknown
}

/** Headers of a response. */
export type HeaderValues = Readonly<Record<string, unknown>>

/**
 * Sends a response of the gate. Without effect if the application has begun to answer by itself, as its limit on the time
 * of a response does while a decision is pending.
 */
export const send = (response: NodeResponse, { body, headers, status }: GateResponse): void => {
  if (response.headersSent) return
  response.statusCode = status
  layOver(response, headers)
  memberOf(response, "end")(...(body === "" ? [] : [body]))
}

/**
 * Sends a kept response, with the headers that the application has set so far. Those of the present request's own CORS
 * settings stay, since the response may have been made for a page of another origin. Without effect as `send`.
 */
export const repeat = (response: NodeResponse, kept: KeptResponse, current: HeaderValues): void => {
  if (response.headersSent) return
  restore(response, current)
  for (const [name, value] of kept.headers) {
    const isOwn = /^access-control-allow-/i.test(name) && response.getHeader(name) !== undefined
    if (!isOwn) response.setHeader(name, value)
  }
  response.statusCode = kept.status
  // The length of a 204 is forbidden, and a 304 would tell that of the resource.
  if (kept.status !== 204 && kept.status !== 304) response.setHeader("Content-Length", `${kept.body.length}`)
  memberOf(response, "end")(kept.body)
}

/** Lays the gate's headers over the current ones, and again when they are written. */
export const layOver = (response: NodeResponse, headers: HeaderFields): void => {
  lay(response, headers)
  ResponseSeal.seal(response, headers)
}

/** The same with the headers of a paid response: those of its status when they are written. */
export const layPaid = (response: NodeResponse, paid: Pick<Granted, "headers" | "headersFor">): void => {
  lay(response, paid.headers)
  ResponseSeal.sealPaid(response, paid)
}

const lay = (response: NodeResponse, headers: HeaderFields): void => {
  const laid = ResponseHeaders.over(headers, (name) => ResponseSeal.textOf(response.getHeader(name)))
  for (const [name, value] of Object.entries(laid)) response.setHeader(name, value)
}

/** A response that its writer has ended, or that exceeds the limit, and that has not left. */
export interface HeldResponse {
  /** The bytes of its body so far. */
  readonly body: () => Uint8Array
  /** Lets it leave as it was written. */
  readonly release: () => void
  /** Lets it leave, and everything that its writer adds. */
  readonly pass: () => void
  /** Drops it, and sends this one with the headers that were there before instead. */
  readonly replace: (answer: GateResponse, before: HeaderValues) => void
}

/** Cuts the connection of a held response that cannot leave, and logs why: its watch reports that nothing was delivered. */
export const breakOff =
  (response: Pick<NodeResponse, "destroy">, run: (effect: Effect.Effect<void>) => Promise<unknown>) =>
  async (error: unknown): Promise<void> => {
    response.destroy()
    try {
      await run(Effect.logError("a held response could not leave, and its connection is cut", error))
    } catch {
      // A shop that has closed runs nothing.
    }
  }

/** The two ends of the writing. Exactly one is called, once. */
export interface HeldEnds {
  readonly ended: (held: HeldResponse) => void
  readonly overflowed: (held: HeldResponse) => void
}

/** Holds a response back from now on. */
export const hold = (response: NodeResponse, ends: HeldEnds): void => {
  ResponseCapture.noteOuter(response)
  const writer = new HeldWriter(response, ends)
  writer.join()
  for (const name of ["headersSent", "writableEnded"] as const) {
    Object.defineProperty(response, name, { configurable: true, get: () => writer[name] })
  }
}

interface Head {
  readonly statusCode: number
  /** Empty for the usual one of the status. */
  readonly statusMessage: string
  readonly headers: HeaderValues
}

type Given = ReadonlyArray<unknown>
type Member = (...given: Given) => unknown
type Native = Readonly<Record<"writeHead" | "write" | "end", Member>>

class HeldWriter implements HeldResponse {
  readonly #response: NodeResponse
  readonly #ends: HeldEnds
  readonly #native: Native
  readonly #letGo: () => void
  #chunks: Array<Uint8Array> = []
  #length = 0
  /** The bytes since the writer was last made to wait. */
  #sinceWait = 0
  /** Whether a part was written before the end: such a body goes in chunks where its length was not told. */
  #inParts = false
  #begun = false
  #phase: "writing" | "waiting" | "leaving" | "left" = "writing"
  /** The head as it was when the body began: what is changed later does not leave, as without the gate. */
  #head: Head | undefined

  constructor(response: NodeResponse, ends: HeldEnds) {
    this.#response = response
    this.#ends = ends
    this.#letGo = ResponseWatch.holdBack(response)
    this.#native = {
      writeHead: memberOf(response, "writeHead"),
      write: memberOf(response, "write"),
      end: memberOf(response, "end")
    }
  }

  /**
   * Puts its members in the place of the response's own ones, and of those of middleware behind the gate, such as a compression: what
   * is held has come through these already.
   */
  join(): void {
    for (const name of ["writeHead", "write", "end", "flushHeaders"] as const)
      Reflect.set(this.#response, name, this[name])
  }

  /**
   * False again once the writer has ended: an error handler that finds the head sent breaks the connection off, and the response is not
   * there yet. Its own writing has no effect.
   */
  get headersSent(): boolean {
    return this.#begun && this.#phase === "writing"
  }

  get writableEnded(): boolean {
    return this.#phase !== "writing"
  }

  /** As Node's: `(status)`, `(status, headers)` or `(status, reason, headers)`. Node itself calls it to begin a body. */
  readonly writeHead = (...given: Given): unknown => {
    if (this.#isLeaving()) return this.#native.writeHead(...given)
    if (this.#begun) return this.#response
    const [status, reason] = given
    const statusCode = HeldHead.statusOf(status)
    const statusMessage = hasMessage(this.#response)
      ? HeldHead.messageOf(typeof reason === "string" ? reason : this.#response.statusMessage)
      : ""
    this.#response.statusCode = statusCode
    for (const [name, value] of Object.entries(ResponseSeal.headersIn(given.at(-1)))) {
      if (value !== undefined) this.#response.setHeader(name, headerValue(value))
    }
    HeldHead.demandTrailer(this.#response)
    this.#begun = true
    this.#head = { statusCode, statusMessage, headers: headersAsWritten(this.#response) }
    return this.#response
  }

  readonly flushHeaders = (): void => this.#begin()

  #restoreHead(): void {
    if (this.#head === undefined) return
    const { headers, statusCode, statusMessage } = this.#head
    restore(this.#response, headers)
    this.#response.statusCode = statusCode
    if (statusMessage !== "") this.#response.statusMessage = statusMessage
  }

  /** Writes the head by the response's own member, as Node does: middleware behind the gate adds its headers then. */
  #begin(): void {
    if (!this.#begun) memberOf(this.#response, "writeHead")(this.#response.statusCode)
  }

  /** As Node's: the writer's callback, and `drain` after a while, come in a later turn of the event loop, so that others have theirs. */
  readonly write = (...given: Given): unknown => {
    if (this.#passesOn()) return this.#native.write(...given)
    this.#inParts = true
    this.#keep(given)
    const told = callbackIn(given)
    if (told !== undefined) later(told)
    if (this.#phase === "writing" && this.#sinceWait < waitBytes) return true
    this.#sinceWait = 0
    later(() => memberOf(this.#response, "emit")("drain"))
    return false
  }

  readonly end = (...given: Given): unknown => {
    if (this.#passesOn()) return this.#native.end(...given)
    if (given[0] !== undefined && given[0] !== null && typeof given[0] !== "function") this.#keep(given)
    const told = callbackIn(given)
    if (this.#passesOn()) return this.#native.end(...(told === undefined ? [] : [told]))
    if (told !== undefined) {
      if (this.#phase === "left") later(told)
      else memberOf(this.#response, "once")("finish", told)
    }
    if (this.#phase === "writing") {
      this.#begin()
      HeldHead.demandLength(this.#response, this.#length)
      this.#phase = "waiting"
      this.join()
      this.#restoreHead()
      this.#ends.ended(this)
    }
    return this.#response
  }

  #keep([chunk, encoding]: Given): void {
    if (this.#phase !== "writing") return
    if (typeof chunk !== "string" && !(chunk instanceof Uint8Array)) throw HeldHead.noChunk(chunk)
    this.#begin()
    // A copy: the writer may reuse its buffer.
    const bytes = ResponseCapture.bytesOf(chunk, encoding) ?? new Uint8Array()
    this.#length += bytes.length
    this.#sinceWait += bytes.length
    this.#chunks.push(bytes)
    if (this.#length <= HeldBody.maximumHeldBytes) return
    this.#phase = "waiting"
    this.#ends.overflowed(this)
  }

  readonly release = (): void => {
    this.#leave(() => {
      this.#restoreHead()
      const body = HeldHead.hasBody(this.#response) && this.#length > 0 ? [this.body()] : []
      // One piece: Node takes no more than some hundred thousand at a time.
      if (this.#inParts) for (const piece of body) memberOf(this.#response, "write")(piece)
      memberOf(this.#response, "end")(...(this.#inParts ? [] : body))
    })
  }

  readonly pass = (): void => {
    this.#leave(() => {
      this.#restoreHead()
      this.write(this.body())
    })
    this.#phase = "leaving"
  }

  readonly body = (): Uint8Array => {
    if (this.#chunks.length > 1) this.#chunks = [BoundedBody.join(this.#chunks, this.#length)]
    return this.#chunks[0] ?? new Uint8Array()
  }

  readonly replace = (instead: GateResponse, before: HeaderValues): void => {
    this.#leave(() => {
      this.join()
      restore(this.#response, before)
      // Node tells no length by itself where one was removed.
      if (instead.body !== "") this.#response.setHeader("Content-Length", `${utf8.encode(instead.body).length}`)
      send(this.#response, instead)
    })
  }

  /**
   * Writes by the response's own members, which a copy of the response may have wrapped meanwhile. Node checks the members
   * by which the response is shown to have begun, so they are Node's own again.
   */
  #leave(write: () => void): void {
    if (this.#isLeaving()) return
    this.#phase = "leaving"
    for (const name of ["headersSent", "writableEnded"] as const) Reflect.deleteProperty(this.#response, name)
    this.#letGo()
    write()
    this.#chunks = []
    this.#phase = "left"
  }

  /** While it leaves, and after that until Node has ended it: middleware in front of the gate may write it later. */
  #passesOn(): boolean {
    if (this.#phase === "leaving") return true
    return this.#phase === "left" && Reflect.get(this.#response, "writableEnded") !== true
  }

  #isLeaving(): boolean {
    return this.#phase === "leaving" || this.#phase === "left"
  }
}

const utf8 = new TextEncoder()

/** The bytes after which a writer waits for `drain`, as at Node's own responses. */
const waitBytes = 64 * 1024

const callbackIn = (given: Given): (() => unknown) | undefined => {
  const told = given.findLast((one) => typeof one === "function")
  return typeof told === "function" ? () => Reflect.apply(told, undefined, []) : undefined
}

/** Calls back in a later turn of the event loop. */
const later = (call: () => unknown): void => {
  const { setImmediate: immediate }: WithImmediates = globalThis
  if (immediate === undefined) setTimeout(call, 0)
  else immediate(call)
}

interface WithImmediates {
  readonly setImmediate?: (call: () => unknown) => unknown
}

/** The headers by the names that they were given, where Node remembers these. */
const headersAsWritten = (response: NodeResponse): HeaderValues => {
  const names: unknown = memberOf(response, "getRawHeaderNames")()
  return Array.isArray(names)
    ? Object.fromEntries(names.map((name) => [name, response.getHeader(String(name))]))
    : { ...response.getHeaders() }
}

const memberOf = (object: object, name: string): Member => {
  const member: unknown = Reflect.get(object, name)
  return typeof member === "function" ? (...given) => Reflect.apply(member, object, given) : () => undefined
}

const headerValue = (value: unknown): string | ReadonlyArray<string> =>
  Array.isArray(value) ? value.map(String) : String(value)

/** Replaces all headers by these. */
export const restore = (response: NodeResponse, before: HeaderValues): void => {
  for (const name of response.getHeaderNames()) response.removeHeader(name)
  for (const [name, value] of Object.entries(before)) {
    if (value !== undefined) response.setHeader(name, headerValue(value))
  }
  if (hasMessage(response)) response.statusMessage = ""
}

/** Whether a response has a status message: over HTTP/2 there is none, and Node warns of every use. */
const hasMessage = (response: object): boolean => Reflect.get(response, "stream") === undefined
