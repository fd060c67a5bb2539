/**
 * Joins a meter with a response of Node. The body passes as its writer writes it. In a stream of server-sent events the gate's own
 * events stand between the writer's, and its end waits until the charge is recorded.
 */
import * as MeterEvents from "./MeterEvents.ts"
import * as QuietMoment from "./QuietMoment.ts"
import * as ResponseSeal from "./ResponseSeal.ts"
import type { NeededVoucher, StreamMeter } from "./StreamMeter.ts"

/** The members of Node's response that are used. */
export interface MeterableResponse {
  readonly headersSent: boolean
  readonly statusCode: number
  readonly writableNeedDrain?: boolean
  readonly getHeaders: () => Readonly<Record<string, unknown>>
  readonly once: (event: string, listener: () => void) => unknown
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
  #timer: ReturnType<typeof setInterval> | undefined
  #writes = 0
  #phase: "open" | "ending" | "ended" = "open"

  constructor(response: MeterableResponse, meter: StreamMeter) {
    this.#response = response
    this.#meter = meter
    this.#write = memberOf(response, "write")
    this.#end = memberOf(response, "end")
    for (const name of ["write", "end"] as const) Reflect.set(response, name, this[name])
    ResponseSeal.afterHead(response, (status) => this.#begun(status))
    response.once("close", () => this.#over())
  }

  #begun(status: number): void {
    this.#meter.begin(status, { need: (voucher) => this.#need(voucher), end: () => this.#cut() })
    if (this.#hasEvents()) this.#timer = setInterval(() => this.#comment(), MeterEvents.commentMillis)
  }

  #over(): void {
    clearInterval(this.#timer)
    this.#phase = "ended"
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
      this.#place.pass(given[0])
      return this.#write(...given)
    }
    if (typeof told === "function") queueMicrotask(() => Reflect.apply(told, undefined, []))
    return true
  }

  readonly end = (...given: Given): unknown => {
    if (this.#phase !== "open") return this.#response
    const [chunk, encoding] = given
    const hasChunk = typeof chunk === "string" || chunk instanceof Uint8Array
    // The head goes first: it says whether the body has events.
    if (!this.#response.headersSent && !hasChunk) memberOf(this.#response, "writeHead")(this.#response.statusCode)
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
    await QuietMoment.after(
      () => this.#writes,
      () => this.#phase === "open" && this.#response.writableNeedDrain === true
    )
    if (this.#phase === "open") await this.#close()
    await left
  }

  async #close(): Promise<void> {
    const hasEvents = this.#hasEvents()
    this.#phase = "ending"
    clearInterval(this.#timer)
    const receipt = await this.#meter.settle()
    if (hasEvents) this.#put(MeterEvents.receipt(receipt))
    this.#end()
  }
}

const memberOf = (object: object, name: string): Member => {
  const member: unknown = Reflect.get(object, name)
  return typeof member === "function" ? (...given) => Reflect.apply(member, object, given) : () => undefined
}
