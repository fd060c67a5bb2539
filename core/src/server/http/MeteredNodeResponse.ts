/**
 * Joins a meter with a response of Node. The body passes as its writer writes it. In a stream of server-sent events the gate's own
 * events stand between the writer's, and its end waits until the charge is recorded.
 */
import { HeldPieces } from "./HeldPieces.ts"
import * as MeterEvents from "./MeterEvents.ts"
import * as QuietMoment from "./QuietMoment.ts"
import * as ResponseSeal from "./ResponseSeal.ts"
import { type NeededVoucher, stallMillis, type StreamMeter } from "./StreamMeter.ts"

/** The members of Node's response that are used. */
export interface MeterableResponse {
  readonly headersSent: boolean
  readonly statusCode: number
  readonly writableNeedDrain?: boolean
  readonly writableLength?: number
  readonly getHeaders: () => Readonly<Record<string, unknown>>
  readonly once: (event: string, listener: () => void) => unknown
  readonly destroy?: () => unknown
}

/** Joins them. Call it before the handler runs. */
export const join = (response: MeterableResponse, meter: StreamMeter): void => void new MeteredWriter(response, meter)

type Given = ReadonlyArray<unknown>
type Member = (...given: Given) => unknown

class MeteredWriter {
  readonly #response: MeterableResponse
  readonly #meter: StreamMeter
  readonly #write: Member
  readonly #end: Member
  readonly #place = new MeterEvents.EventPlace()
  readonly #pieces: HeldPieces<() => void>
  #timer: ReturnType<typeof setInterval> | undefined
  #writes = 0
  #left: () => void = () => undefined
  #phase: "open" | "ending" | "ended" = "open"
  /** Ends the response once nothing is held. */
  #last: (() => void) | undefined

  constructor(response: MeterableResponse, meter: StreamMeter) {
    this.#response = response
    this.#meter = meter
    this.#pieces = new HeldPieces(meter)
    this.#write = memberOf(response, "write")
    this.#end = memberOf(response, "end")
    for (const name of ["write", "end"] as const) Reflect.set(response, name, this[name])
    ResponseSeal.afterHead(response, (status) => this.#begun(status))
    response.once("close", () => this.#over())
  }

  #begun(status: number): void {
    this.#meter.begin(status, {
      need: (voucher) => this.#need(voucher),
      release: () => this.#release(),
      isFull: () => this.#isFull(),
      drained: () => this.#untilDrained(),
      end: () => this.#cut()
    })
    if (this.#hasEvents()) this.#timer = setInterval(() => this.#comment(), MeterEvents.commentMillis)
  }

  #over(): void {
    clearInterval(this.#timer)
    this.#phase = "ended"
    this.#left()
  }

  /** Waits for the reader; with `false` once it has left. One that takes nothing for too long is disconnected. */
  #untilDrained(): Promise<boolean> {
    return new Promise((resolve) => {
      let left = this.#response.writableLength
      const timer = setInterval(() => {
        if (this.#response.writableLength === left) this.#response.destroy?.()
        left = this.#response.writableLength
      }, stallMillis)
      const end = (isDrained: boolean) => {
        clearInterval(timer)
        resolve(isDrained)
      }
      this.#left = () => end(false)
      this.#response.once("drain", () => end(true))
    })
  }

  #hasEvents(): boolean {
    const { "content-encoding": encoding, "content-type": type } = this.#response.getHeaders()
    return this.#meter.isCharged && MeterEvents.areIn(ResponseSeal.textOf(type), ResponseSeal.textOf(encoding))
  }

  /** Writes a whole event of the gate. */
  #put(text: string): void {
    this.#write(this.#place.completion + text)
    this.#place.pass(text)
  }

  #need(voucher: NeededVoucher): void {
    if (this.#phase === "open" && this.#hasEvents()) this.#put(MeterEvents.need(voucher))
  }

  #comment(): void {
    if (this.#phase === "open" && this.#place.completion === "") this.#put(MeterEvents.comment)
  }

  readonly write = (...given: Given): unknown => {
    const told = given.findLast((one) => typeof one === "function")
    if (this.#phase === "open") {
      this.#writes++
      if (this.#meter.isSplit) return this.#hold(given)
      this.#place.pass(given[0])
      return this.#write(...given)
    }
    if (typeof told === "function") queueMicrotask(() => Reflect.apply(told, undefined, []))
    return true
  }

  /** Writes as much of a piece as the buyer's vouchers cover. */
  #hold(given: Given): unknown {
    const [chunk, encoding] = given
    const bytes = bytesOf(chunk, encoding)
    if (bytes === undefined) return this.#write(...given)
    // The head goes first: it says what becomes of the body.
    this.#sendHead()
    const told = given.findLast((one) => typeof one === "function")
    this.#pieces.add(bytes, typeof told === "function" ? () => void Reflect.apply(told, undefined, []) : undefined)
    return this.#release()
  }

  #sendHead(): void {
    if (!this.#response.headersSent) memberOf(this.#response, "writeHead")(this.#response.statusCode)
  }

  #release(): unknown {
    if (this.#phase !== "open") return true
    let written: unknown = true
    const isWhole = !this.#isDivisible()
    for (let part = this.#pieces.take(isWhole); part !== undefined; part = this.#pieces.take(isWhole)) {
      this.#place.pass(part.bytes)
      written = this.#write(part.bytes, ...(part.told === undefined ? [] : [part.told]))
    }
    if (this.#pieces.isEmpty) this.#last?.()
    return written
  }

  /** Events, and bodies whose coding counts other bytes than the buyer, leave piece by piece. */
  #isDivisible(): boolean {
    const { "content-encoding": encoding } = this.#response.getHeaders()
    return !this.#hasEvents() && MeterEvents.isPlain(ResponseSeal.textOf(encoding))
  }

  readonly end = (...given: Given): unknown => {
    if (this.#phase !== "open") return this.#response
    const [chunk] = given
    if (this.#meter.isSplit && bytesOf(chunk, given[1]) !== undefined) {
      const [, encoding, told] = given
      this.#hold([chunk, encoding])
      return this.end(...[encoding, told].filter((one) => typeof one === "function"))
    }
    if (this.#pieces.isEmpty) return this.#endNow(given)
    this.#last = () => {
      this.#last = undefined
      this.#endNow(given)
    }
    return this.#response
  }

  #endNow(given: Given): unknown {
    const [chunk, encoding] = given
    const hasChunk = typeof chunk === "string" || chunk instanceof Uint8Array
    // The head goes first: it says whether the body has events.
    if (!hasChunk) this.#sendHead()
    if (!this.#response.headersSent || !this.#hasEvents()) {
      this.#phase = "ended"
      return this.#end(...given)
    }
    const told = given.findLast((one) => typeof one === "function")
    if (typeof told === "function") this.#response.once("finish", () => void Reflect.apply(told, undefined, []))
    if (hasChunk) this.write(chunk, ...(typeof encoding === "string" ? [encoding] : []))
    void this.#close()
    return this.#response
  }

  /** Ends the response instead of its writer. */
  async #cut(): Promise<void> {
    if (this.#phase !== "open") return
    const left = new Promise<void>((resolve) => {
      this.#response.once("finish", resolve)
      this.#response.once("close", resolve)
    })
    // A handler that waits for the reader waits no more.
    this.#left()
    await this.#untilQuiet()
    if (this.#phase === "open") await this.#close(this.#hasEvents() ? () => this.#end() : () => abort(this.#response))
    await left
  }

  /** Waits for pieces on their way, as long as the reader takes what stands before them. */
  async #untilQuiet(): Promise<void> {
    do {
      // oxlint-disable-next-line no-await-in-loop -- each wait follows the one before
      if (this.#isFull()) await this.#untilDrained()
      // oxlint-disable-next-line no-await-in-loop -- each wait follows the one before
      await QuietMoment.after(() => this.#writes)
    } while (this.#isFull())
  }

  #isFull(): boolean {
    return this.#phase === "open" && this.#response.writableNeedDrain === true
  }

  /** Ends the response in this way, once its charge is recorded. */
  async #close(over: () => void = () => void this.#end()): Promise<void> {
    const hasEvents = this.#hasEvents()
    this.#phase = "ending"
    for (const told of this.#pieces.drop()) told?.()
    clearInterval(this.#timer)
    this.#left()
    const receipt = await this.#meter.settle()
    if (hasEvents) this.#put(MeterEvents.receipt(receipt))
    over()
  }
}

/** Breaks a response off after the bytes that were written, so that its client does not take them for the whole body. */
const abort = (response: object): void => {
  const stream: unknown = Reflect.get(response, "stream")
  const socket: unknown = Reflect.get(response, "socket")
  if (typeof stream === "object" && stream !== null) memberOf(stream, "close")(internalError)
  else if (socket instanceof Object && "destroySoon" in socket) memberOf(socket, "destroySoon")()
  else memberOf(response, "destroy")()
}

/** The code of a reset stream over HTTP/2. */
const internalError = 2

/** The bytes of a chunk; `undefined` if it is none. */
const bytesOf = (chunk: unknown, encoding: unknown): Uint8Array | undefined => {
  if (typeof chunk !== "string") return chunk instanceof Uint8Array ? chunk : undefined
  return typeof encoding === "string" && Buffer.isEncoding(encoding) ? Buffer.from(chunk, encoding) : Buffer.from(chunk)
}

const memberOf = (object: object, name: string): Member => {
  const member: unknown = Reflect.get(object, name)
  return typeof member === "function" ? (...given) => Reflect.apply(member, object, given) : () => undefined
}
