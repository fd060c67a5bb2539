/**
 * Joins a meter with the body of a `Response`. The body passes as its handler makes it, and is read on demand. In a stream of
 * server-sent events the gate's own events stand between the handler's.
 */
import * as MeterEvents from "../http/MeterEvents.ts"
import * as QuietMoment from "../http/QuietMoment.ts"
import type { MeteredSink, NeededVoucher, StreamMeter } from "../http/StreamMeter.ts"

/** The same body, which the meter may end. Its head leaves with this status. */
export const join = (
  body: ReadableStream<Uint8Array>,
  { headers, status }: Pick<Response, "headers" | "status">,
  meter: StreamMeter
): ReadableStream<Uint8Array> => {
  const metered = new MeteredReader(body.getReader(), meter)
  meter.begin(status, metered)
  const header = (name: string) => headers.get(name) ?? undefined
  if (meter.isCharged && MeterEvents.areIn(header("content-type"), header("content-encoding"))) metered.addEvents()
  return new ReadableStream<Uint8Array>(
    { pull: (controller) => metered.pull(controller), cancel: (reason) => metered.cancel(reason) },
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
  readonly #texts: Array<string> = []
  #hasEvents = false
  #isCut = false
  #reading: ReturnType<Reader["read"]> | undefined
  #wake: () => void = () => undefined
  #left: () => void = () => undefined
  #timer: ReturnType<typeof setInterval> | undefined

  constructor(reader: Reader, meter: StreamMeter) {
    this.#reader = reader
    this.#meter = meter
  }

  addEvents(): void {
    this.#hasEvents = true
    this.#timer = setInterval(() => {
      if (this.#place.completion === "") this.#put(MeterEvents.comment)
    }, MeterEvents.commentMillis)
  }

  readonly need = (voucher: NeededVoucher): void => {
    if (this.#hasEvents) this.#put(MeterEvents.need(voucher))
  }

  readonly end = (): Promise<void> => {
    this.#isCut = true
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
    const added = this.#texts.shift()
    if (added !== undefined) return this.#enqueueText(controller, added)
    if (this.#isCut) return this.#drain(controller)
    const woken = new Promise<undefined>((resolve) => {
      this.#wake = () => resolve(undefined)
    })
    this.#reading ??= this.#reader.read()
    try {
      const read = await Promise.race([this.#reading, woken])
      if (read === undefined) return await this.pull(controller)
      this.#reading = undefined
      if (read.done) return await this.#finish(controller)
      this.#place.pass(read.value)
      controller.enqueue(read.value)
    } catch (error) {
      if (this.#isCut) return this.#finish(controller)
      this.#stop()
      controller.error(error)
    }
  }

  /** Lets the pieces leave that the handler has made already, and ends the body. */
  async #drain(controller: Controller): Promise<void> {
    this.#reading ??= this.#reader.read()
    const quiet = QuietMoment.after(() => 0).then(() => undefined)
    const read = await Promise.race([this.#reading.catch(() => undefined), quiet])
    if (read === undefined || read.done) return this.#finish(controller)
    this.#reading = undefined
    this.#place.pass(read.value)
    controller.enqueue(read.value)
  }

  #enqueueText(controller: Controller, text: string): void {
    controller.enqueue(utf8.encode(this.#place.completion + text))
    this.#place.pass(text)
  }

  async #finish(controller: Controller): Promise<void> {
    this.#stop()
    const receipt = await this.#meter.settle()
    if (this.#hasEvents) this.#enqueueText(controller, MeterEvents.receipt(receipt))
    controller.close()
    if (this.#isCut) void this.#reader.cancel().catch(() => undefined)
  }

  cancel(reason: unknown): Promise<void> {
    this.#stop()
    return this.#reader.cancel(reason)
  }

  #stop(): void {
    clearInterval(this.#timer)
    this.#left()
  }
}
