/**
 * The response of a draw on a channel: what it is charged by its head, the receipt that says so, and the end of its execution, which
 * is reported with the charge.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import type { RepeatedWarning } from "../../platform/RepeatedWarning.ts"
import type { Settlement } from "../../protocol/Settlement.ts"
import type { HeaderFields } from "../../wire/pontage/Dialect.ts"
import type { Granted, ResponseHeader } from "../http/Decision.ts"
import type { PricedOption, PricedRoute } from "../route/PricedRoute.ts"
import type { GrantedExecution } from "./ExecutionLeases.ts"

/** A granted draw. */
export interface GrantedDraw {
  readonly route: Pick<PricedRoute, "charge" | "name">
  readonly option: Pick<PricedOption, "asset" | "schemeServer">
  /** The receipt of the whole price. */
  readonly settlement: Settlement
  /** The host's own request. */
  readonly native: unknown
  /** The lowest status of a response that costs nothing. */
  readonly below: 400 | 500
  readonly finish: GrantedExecution["finish"]
  /** The gate's headers for a response with this receipt; the signed receipt stands in those of a whole price alone. */
  readonly headersWith: (settlement: Settlement) => HeaderFields
  readonly warn: RepeatedWarning
}

/** The parts of a decision that depend on the charge. */
export const make = (draw: GrantedDraw): Pick<Granted, "endsAtHead" | "finish" | "headersFor" | "settlementFor"> => {
  const { below, finish, headersWith, settlement } = draw
  const charge = new DrawCharge(draw)
  const settlementFor = (status: number, header: ResponseHeader) =>
    charged(draw, status < below ? charge.at(status, header) : 0n)
  return {
    endsAtHead: below,
    settlementFor,
    headersFor: (status, header) => headersWith(settlementFor(status, header)),
    finish: (outcome) =>
      Effect.suspend(() =>
        outcome === "served" && charge.isLess(settlement.amount)
          ? Effect.andThen(charge.explained, finish(outcome, charge.amount))
          : Effect.andThen(charge.explained, finish(outcome))
      )
  }
}

/** The receipt of a draw that is charged this amount. */
export const charged = ({ option, settlement }: GrantedDraw, amount: bigint): Settlement => {
  const uncharged = BigInt(settlement.amount) - amount
  if (uncharged === 0n) return settlement
  const extra = settlement.extra && option.schemeServer.draws?.receipt(settlement.extra, uncharged)
  return { ...settlement, amount: `${amount}`, ...(extra && { extra }) }
}

/** The charge, which is made once: by the head that is written. */
class DrawCharge {
  readonly #draw: GrantedDraw
  #amount: bigint | undefined
  #fault: string | undefined

  constructor(draw: GrantedDraw) {
    this.#draw = draw
  }

  get amount(): bigint {
    return this.#amount ?? BigInt(this.#draw.settlement.amount)
  }

  isLess(price: string): boolean {
    return this.amount < BigInt(price)
  }

  at(status: number, header: ResponseHeader): bigint {
    this.#amount ??= this.#made(status, header)
    return this.#amount
  }

  #made(status: number, header: ResponseHeader): bigint {
    const { native, option, route, settlement } = this.#draw
    const price = BigInt(settlement.amount)
    const made = route.charge?.(option.asset, { status, header, native })
    if (made === undefined) return price
    if (Result.isSuccess(made)) return made.success < price ? made.success : price
    this.#fault = made.failure
    return price
  }

  /** Logs why the route's function gave no charge. */
  get explained(): Effect.Effect<void> {
    const { route, warn } = this.#draw
    return this.#fault === undefined
      ? Effect.void
      : warn(`${route.name} charge`, `${route.name}: ${this.#fault}; the whole price was charged`)
  }
}
