/**
 * Counts the units of one metered response against the windows that its buyer's vouchers cover. A window is reserved before it is used,
 * and charged in full before the first unit of the next one is sent, so that a process that dies loses one window at most.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

import type { ExecutionOutcome } from "../../facilitator/Facilitator.ts"
import { type MeterEnd, MeterEnded, type PaymentMeter } from "./PaymentMeter.ts"
import * as QuietMoment from "./QuietMoment.ts"

/** A voucher that a response waits for. Amounts are in the smallest unit. */
export interface NeededVoucher {
  readonly channelId: string
  readonly requiredCumulative: bigint
  readonly acceptedCumulative: bigint
  readonly deposit: bigint
}

/** The end of a metered response. */
export interface MeterReceipt {
  readonly channelId: string
  /** Unix milliseconds. */
  readonly at: number
  readonly charged: bigint
  /** The base of the channel's next voucher. */
  readonly owed: bigint
  readonly units: bigint
  readonly end: Exclude<MeterEnd, "gone" | "unsent"> | undefined
}

/** The end of a charge: durable, refused by the ledger, or not known in time, so that it may become durable later. */
export type WindowCharge = "charged" | "refused" | "unknown"

/** A window that is reserved. */
export interface MeterWindow {
  readonly amount: bigint
  /** Charges this much of it. Only the first charge counts. */
  readonly charge: (amount: bigint) => Effect.Effect<WindowCharge>
  /** Gives it back. */
  readonly release: (outcome: Exclude<ExecutionOutcome, "served">) => Effect.Effect<void>
}

/** The windows of a response. */
export interface MeterSource {
  readonly unit: string
  readonly tick: bigint
  /** The lowest status of a response that costs nothing. */
  readonly below: number
  readonly first: MeterWindow
  /** The amount of each further window. */
  readonly window: bigint
  /** Reserves the next window; tells of each voucher that it waits for. */
  readonly next: (need: (voucher: NeededVoucher) => void) => Effect.Effect<MeterWindow | "budget" | "idle" | "closed">
  /** Completes once the channel is drawn on no more. */
  readonly closed: Effect.Effect<void>
  readonly receipt: (sums: Pick<MeterReceipt, "charged" | "units" | "end">) => Effect.Effect<MeterReceipt>
}

/** The longest time in which a reader takes nothing while something waits for it, in milliseconds. Then its response breaks off. */
export const stallMillis = 300_000

/** The response, as the meter acts on it. */
export interface MeteredSink {
  readonly need: (voucher: NeededVoucher) => void
  /** More of what was written may leave (`StreamMeter.passing`). */
  readonly release: () => void
  /** Whether what was sent waits for the reader. Absent for a response that is one message. */
  readonly isFull?: () => boolean
  /** Resolves once it is full no more; with `false` once the reader has left. */
  readonly drained?: () => Promise<boolean>
  /** Ends the response before its handler does; resolves once its bytes have left. */
  readonly end: () => Promise<void>
}

/** A handler that ignores the rejection must not end the process. */
const rejected = (reason: Error): Promise<never> => {
  const rejection = Promise.reject(reason)
  void rejection.catch(() => undefined)
  return rejection
}

/** The meter of one response. */
export class StreamMeter implements PaymentMeter {
  readonly #source: MeterSource
  #window: MeterWindow
  /** The charge of all windows before the present one, and of the present one once its charge goes on without the response. */
  #before = 0n
  #used = 0n
  #units = 0n
  #covered: bigint
  /** The units of a piece that was written in part, and waits for further windows. */
  #debt = 0n
  #status: number | undefined
  #sink: MeteredSink | undefined
  #end: MeterEnd | undefined
  readonly #gone = new AbortController()
  #begin: () => void = () => undefined
  readonly #begun = new Promise<void>((resolve) => {
    this.#begin = resolve
  })
  #demanded = false
  #waiting: Promise<void> | undefined
  #extending: Promise<MeterEnd | undefined> | undefined
  #finished: Promise<void> | undefined
  #receipt: MeterReceipt | undefined

  constructor(source: MeterSource) {
    this.#source = source
    this.#window = source.first
    this.#covered = source.first.amount
  }

  get unit(): string {
    return this.#source.unit
  }

  get units(): bigint {
    return this.#units
  }

  /** The receipt; `undefined` until the response has ended. */
  get receipt(): MeterReceipt | undefined {
    return this.#receipt
  }

  /** Whether the head of a response that is charged was sent. */
  get isCharged(): boolean {
    return this.#status !== undefined && this.#status < this.#source.below
  }

  /** The head of the response was sent. */
  begin(status: number, sink: MeteredSink): void {
    if (this.#sink !== undefined) return
    this.#status = status
    this.#sink = sink
    this.#begin()
    if (!this.isCharged) return
    void this.#watch()
    if (this.#end === "unsent" && this.#debt > 0n) void sink.end()
  }

  /** Ends the response of a channel that is closed, so that its present window is charged before the channel is empty. */
  async #watch(): Promise<void> {
    const { signal } = this.#gone
    const exit = await Effect.runPromiseExit(this.#source.closed, { signal })
    if (Exit.isSuccess(exit)) await this.#stop("closed")
  }

  /** The bytes that may leave when this many were written: all but those that are charged and not covered. */
  passing(written: bigint): bigint {
    const isFree = this.#status !== undefined && !this.isCharged
    if (this.#debt === 0n || isFree) return written
    const uncharged = written - this.#units - this.#debt
    if (uncharged > 0n) return this.#units + uncharged
    return written < this.#units ? written : this.#units
  }

  /** Whether a unit is a byte, so that a piece may leave in parts. */
  get isSplit(): boolean {
    return this.#source.unit === "byte"
  }

  readonly charge = (units: number | bigint = 1n): Promise<void> => {
    const cost = this.#costOf(units)
    if (cost instanceof RangeError) return rejected(cost)
    if (this.#end !== undefined) return rejected(new MeterEnded(this.#end))
    if (this.#waiting === undefined && this.#used + cost <= this.#covered && this.#sink?.isFull?.() !== true) {
      this.#take(BigInt(units), cost)
      return Promise.resolve()
    }
    if (this.#waiting !== undefined && this.#debt > 0n) void this.#demandHead()
    const before = this.#waiting ?? Promise.resolve()
    const charging = before.then(() => this.#chargeLater(BigInt(units), cost))
    const settled = charging.then(() => this.#pay()).catch(() => undefined)
    this.#waiting = settled
    void settled.finally(() => {
      if (this.#waiting === settled) this.#waiting = undefined
    })
    void charging.catch(() => undefined)
    return charging
  }

  #costOf(units: number | bigint): bigint | RangeError {
    const isWhole = typeof units === "bigint" ? units >= 0n : Number.isSafeInteger(units) && units >= 0
    if (!isWhole) return new RangeError(`meter.charge: expected a whole number of units, got ${String(units)}`)
    const { first, tick, window } = this.#source
    const cost = BigInt(units) * tick
    const most = first.amount < window ? first.amount : window
    return cost <= most || this.isSplit
      ? cost
      : new RangeError(`meter.charge: ${units} units cost more than a window; charge at most ${most / tick} at a time`)
  }

  #take(units: bigint, cost: bigint): void {
    this.#units += units
    this.#used += cost
  }

  async #chargeLater(units: bigint, cost: bigint): Promise<void> {
    await this.#drain()
    if (this.isSplit) return this.#owe(units)
    if (this.#end === undefined && this.#used + cost > this.#covered) await this.#extend()
    if (this.#end !== undefined) throw new MeterEnded(this.#end)
    this.#take(units, cost)
  }

  /** Charges a piece that leaves in parts: its handler goes on and writes it, and the next charge waits until all of it is covered. */
  #owe(units: bigint): void {
    if (this.#end !== undefined) throw new MeterEnded(this.#end)
    this.#debt = units
    this.#takePart()
  }

  #takePart(): void {
    const { tick } = this.#source
    const room = (this.#covered - this.#used) / tick
    const part = room < this.#debt ? room : this.#debt
    this.#debt -= part
    this.#take(part, part * tick)
    this.#sink?.release()
  }

  /** Goes from window to window until the piece is covered. It begins with the head: before that its bytes cannot leave. */
  async #pay(): Promise<void> {
    while (this.#debt > 0n && this.#end === undefined) {
      // oxlint-disable-next-line no-await-in-loop -- one window after the other
      await this.#begun
      if (this.#sink !== undefined && !this.isCharged) this.#debt = 0n
      // oxlint-disable-next-line no-await-in-loop -- one window after the other
      else if (this.#end === undefined) await this.#extend()
      if (this.#end === undefined) this.#takePart()
    }
  }

  /** Ends the wait of a handler that charges on without a head. Pieces may still be on their way through its streams. */
  async #demandHead(): Promise<void> {
    if (this.#demanded || this.#sink !== undefined) return
    this.#demanded = true
    await QuietMoment.after(() => 0)
    if (this.#sink === undefined) await this.#stop("unsent")
  }

  /** Waits for the reader: a handler that writes on would keep in memory all that its buyer has paid for and does not read. */
  async #drain(): Promise<void> {
    if (this.#end !== undefined || this.#sink?.isFull?.() !== true) return
    if ((await this.#sink.drained?.()) === false) await this.#stop("gone")
  }

  /** Goes on to the next window, or ends the response. */
  async #extend(): Promise<void> {
    if (this.#sink === undefined) return this.#stop("unsent")
    const extending = this.#extended().catch((): MeterEnd => "gone")
    this.#extending = extending
    const end = await extending
    this.#extending = undefined
    if (end !== undefined) await this.#stop(end)
  }

  /** Reserves the next window, and charges the present one in full before it is used. */
  async #extended(): Promise<MeterEnd | undefined> {
    const { signal } = this.#gone
    const next = await Effect.runPromise(
      this.#source.next((voucher) => this.#sink?.need(voucher)),
      { signal }
    )
    if (typeof next === "string") return next
    const charge = this.#end === undefined ? await Effect.runPromise(this.#window.charge(this.#window.amount)) : "over"
    // The receipt names the charge that goes on: otherwise the ledger charges more than the receipt says.
    if (charge === "charged" || charge === "unknown") this.#before += this.#window.amount
    if (charge !== "charged") {
      void Effect.runPromise(next.release("notRun"))
      return charge === "over" ? "gone" : "closed"
    }
    this.#window = next
    this.#covered += next.amount
    return undefined
  }

  /** Ends the response of a buyer that cannot be told of the voucher it waits for. */
  readonly endUntold = (): Promise<void> => this.#stop("budget")

  async #stop(end: MeterEnd): Promise<void> {
    if (this.#end !== undefined) return
    this.#end = end
    this.#begin()
    if (end === "unsent") return
    // The charge does not wait for the bytes: a reader that takes no more of them would keep it open, and withdraw meanwhile.
    void this.#finish("served")
    await this.#sink?.end()
  }

  /** Ends the execution: a response that was sent is charged its units, any other one nothing. Only the first end counts. */
  readonly finish = (outcome: ExecutionOutcome): Effect.Effect<void> => Effect.promise(() => this.#finish(outcome))

  #finish(outcome: ExecutionOutcome): Promise<void> {
    this.#end ??= "gone"
    this.#gone.abort()
    this.#begin()
    this.#finished ??= this.#conclude(outcome)
    return this.#finished
  }

  async #conclude(outcome: ExecutionOutcome): Promise<void> {
    await this.#extending
    // A run without a charge is released, so that the facilitator counts it among those that cost its payer nothing.
    const ending =
      this.isCharged && this.#charged > 0n
        ? this.#window.charge(this.#charged - this.#before)
        : this.#window.release(outcome === "served" ? "failed" : outcome)
    await Effect.runPromise(ending)
  }

  get #charged(): bigint {
    return this.#used > this.#before ? this.#used : this.#before
  }

  /** Ends the execution of a response that is sent, and returns its receipt. */
  readonly settle = async (): Promise<MeterReceipt> => {
    const reason = this.#end
    const end = reason === "budget" || reason === "idle" || reason === "closed" ? reason : undefined
    await this.#finish("served")
    this.#receipt = await Effect.runPromise(this.#source.receipt({ charged: this.#charged, units: this.#units, end }))
    return this.#receipt
  }
}
