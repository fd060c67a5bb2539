/** The meter of a response that is charged while it is sent, as its handler sees it. */

/**
 * The end of a metered response before its handler's own: `budget`, the buyer sends no further vouchers and the first window is used;
 * `idle`, no voucher came in time; `closed`, the channel is drawn on no more, or the facilitator does not answer; `gone`, the buyer has
 * disconnected; `unsent`, the first window was used up before the head of the response was sent.
 */
export type MeterEnd = "budget" | "idle" | "closed" | "gone" | "unsent"

const reasons: Readonly<Record<MeterEnd, string>> = {
  budget: "the window of a buyer who sends no further vouchers is used",
  idle: "no further voucher came in time",
  closed: "the channel is drawn on no more, or the facilitator does not answer",
  gone: "the buyer has disconnected",
  unsent: "the first window was used before the head of the response was sent; send it earlier"
}

/** Rejects a charge that is not covered and will not be: the response has ended, and its handler may stop. */
export class MeterEnded extends Error {
  override readonly name = "MeterEnded"
  readonly end: MeterEnd

  constructor(end: MeterEnd) {
    super(`the metered response has ended: ${reasons[end]}`)
    this.end = end
  }
}

/** The meter. */
export interface PaymentMeter {
  /** The unit of the route. */
  readonly unit: string
  /** The units that are charged so far. */
  readonly units: bigint
  /**
   * Charges units: call it before they are sent. Resolves at once while the buyer's vouchers cover them, and waits for the next one
   * otherwise. Where the unit is `byte`, it resolves once all earlier ones are covered, for a piece of any size, which leaves in parts then.
   * Rejects with `MeterEnded` once the response has ended, and with a `RangeError` for a number that is not whole, or of other units
   * costs more than a window.
   */
  readonly charge: (units?: number | bigint) => Promise<void>
}

const meters = new WeakMap<object, PaymentMeter>()

/** Notes the meter of a request of the host. */
export const attach = (request: object, meter: PaymentMeter): void => void meters.set(request, meter)

/** The meter of a request; `undefined` where the route is not metered, or nothing was paid. */
export const of = (request: object): PaymentMeter | undefined => meters.get(request)
