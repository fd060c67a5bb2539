/**
 * Joins a meter with the body of a `Response`. The body passes as its handler makes it, and is read on demand. In a stream of
 * server-sent events the gate's own events stand between the handler's. The web platform says nothing of the connection but whether the
 * host asks for more: a host asks once its reader has taken the last piece, so charges wait for that, and a body for which no host asks
 * for too long breaks off.
 */
import { HeldPieces } from "../http/HeldPieces.ts"
import * as MeterEvents from "../http/MeterEvents.ts"
import { MeterEnded } from "../http/PaymentMeter.ts"
import * as QuietMoment from "../http/QuietMoment.ts"
import { type MeteredSink, type NeededVoucher, stallMillis, type StreamMeter } from "../http/StreamMeter.ts"
import * as BodyPiece from "./BodyPiece.ts"
import { ReaderStalled } from "./WatchedBody.ts"

/** The same body, which the meter may end. Its head leaves with this status. */
export const join = (
  body: ReadableStream<Uint8Array>,
  { headers, status }: Pick<Response, "headers" | "status">,
  meter: StreamMeter
): ReadableStream<Uint8Array> => {
  const header = (name: string) => headers.get(name) ?? undefined
  const encoding = header("content-encoding")
  const metered = new MeteredReader(body.getReader(), meter, MeterEvents.isPlain(encoding))
  meter.begin(status, metered)
  if (meter.isCharged && MeterEvents.areIn(header("content-type"), encoding)) metered.addEvents()
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => metered.watch(controller),
      pull: (controller) => metered.pull(controller),
      cancel: (reason) => metered.cancel(reason)
    },
    { highWaterMark: 0 }
  )
}

type Reader = ReadableStreamDefaultReader<Uint8Array>
type Controller = ReadableStreamDefaultController<Uint8Array>

const utf8 = new TextEncoder()

class MeteredReader implements MeteredSink {
  readonly #reader: Reader
  readonly #meter: StreamMeter
  readonly #place = new MeterEvents.EventPlace()
  readonly #pieces: HeldPieces
  /** Whether the buyer counts the bytes as the meter does. */
  readonly #isPlain: boolean
  readonly #texts: Array<string> = []
  #hasEvents = false
  #isCut = false
  #reading: ReturnType<Reader["read"]> | undefined
  #wake: () => void = () => undefined
  #left: () => void = () => undefined
  #timer: ReturnType<typeof setInterval> | undefined
  #isAsked = false
  #isOver = false
  #asked = 0
  #stall: ReturnType<typeof setInterval> | undefined
  #drained: (hasReader: boolean) => void = () => undefined

  constructor(reader: Reader, meter: StreamMeter, isPlain: boolean) {
    this.#reader = reader
    this.#meter = meter
    this.#isPlain = isPlain
    this.#pieces = new HeldPieces(meter)
  }

  addEvents(): void {
    this.#hasEvents = true
    this.#timer = setInterval(() => {
      if (this.#place.completion === "" && this.#texts.length === 0) this.#put(MeterEvents.comment)
    }, MeterEvents.commentMillis)
  }

  readonly need = (voucher: NeededVoucher): void => {
    if (this.#hasEvents) this.#put(MeterEvents.need(voucher))
  }

  readonly release = (): void => this.#wake()

  readonly isFull = (): boolean => !this.#isAsked && !this.#isOver

  /** The meter lets one charge at a time wait. */
  readonly drained = (): Promise<boolean> =>
    new Promise((resolve) => {
      this.#drained = resolve
    })

  readonly end = (): Promise<void> => {
    this.#isCut = true
    // A handler that waits for the reader waits no more.
    this.#drained(false)
    if (this.#isOver) return Promise.resolve()
    const left = new Promise<void>((resolve) => {
      this.#left = resolve
    })
    this.#wake()
    return left
  }

  #put(text: string): void {
    this.#texts.push(text)
    this.#wake()
  }

  async pull(controller: Controller): Promise<void> {
    this.#asked++
    this.#isAsked = true
    this.#drained(true)
    await this.#serve(controller)
    this.#isAsked = false
  }

  /** Breaks off once its host has asked for nothing between two looks. */
  watch(controller: Controller): void {
    let last: number | undefined
    this.#stall = setInterval(() => {
      if (!this.#isAsked && this.#asked === last) this.#breakOff(controller)
      last = this.#asked
    }, stallMillis)
  }

  #breakOff(controller: Controller): void {
    this.#stop()
    const error = new ReaderStalled(stallMillis)
    controller.error(error)
    void this.#reader.cancel(error).catch(() => undefined)
  }

  async #serve(controller: Controller): Promise<void> {
    const added = this.#texts.shift()
    if (added !== undefined) return this.#enqueueText(controller, added)
    if (this.#send(controller)) return undefined
    if (this.#isCut) return this.#drain(controller)
    const woken = new Promise<undefined>((resolve) => {
      this.#wake = () => resolve(undefined)
    })
    try {
      const read = await (this.#pieces.isEmpty ? Promise.race([this.#next(), woken]) : woken)
      if (read === undefined) return await this.#serve(controller)
      this.#reading = undefined
      if (read.done) return await this.#finish(controller)
      this.#add(read.value)
      return await this.#serve(controller)
    } catch (error) {
      if (this.#isCut) return this.#drain(controller)
      this.#stop()
      controller.error(error)
    }
  }

  #add(piece: unknown): void {
    const bytes = BodyPiece.bytesOf(piece)
    if (bytes === undefined) throw BodyPiece.unsendable(piece)
    this.#pieces.add(bytes)
  }

  #next(): ReturnType<Reader["read"]> {
    this.#reading ??= this.#reader.read()
    return this.#reading
  }

  /** Sends as much of the piece that came as the buyer's vouchers cover. */
  #send(controller: Controller): boolean {
    const part = this.#pieces.take(this.#hasEvents || !this.#isPlain)
    if (part === undefined) return false
    this.#place.pass(part.bytes)
    controller.enqueue(part.bytes)
    return true
  }

  /** Lets the pieces leave that the handler has made already, and ends the body: not before its host has sent them. */
  async #drain(controller: Controller): Promise<void> {
    const quiet = QuietMoment.after(() => 0).then(() => undefined)
    const next = this.#pieces.isEmpty ? this.#next().catch(() => undefined) : undefined
    const read = await Promise.race([next, quiet])
    if (read !== undefined && !read.done) {
      this.#reading = undefined
      this.#add(read.value)
      if (this.#send(controller)) return
    }
    await quiet
    await this.#finish(controller)
  }

  #enqueueText(controller: Controller, text: string): void {
    controller.enqueue(utf8.encode(this.#place.completion + text))
    this.#place.pass(text)
  }

  async #finish(controller: Controller): Promise<void> {
    this.#stop()
    const receipt = await this.#meter.settle()
    if (this.#hasEvents) this.#enqueueText(controller, MeterEvents.receipt(receipt))
    // A body without events breaks off, so that its client does not take what came for the whole.
    if (this.#isCut && !this.#hasEvents) controller.error(new MeterEnded(receipt.end ?? "closed"))
    else controller.close()
    if (this.#isCut) void this.#reader.cancel().catch(() => undefined)
  }

  cancel(reason: unknown): Promise<void> {
    this.#stop()
    return this.#reader.cancel(reason)
  }

  #stop(): void {
    this.#isOver = true
    clearInterval(this.#timer)
    clearInterval(this.#stall)
    this.#drained(false)
    this.#left()
  }
}
