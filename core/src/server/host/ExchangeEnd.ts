/**
 * The end of one paid execution on the web platform, and the host's means to stay alive until it is reported. It holds nothing of the
 * request and of its response: a body that its host drops is reported by this, and must not be kept in memory by it.
 */
import * as Effect from "effect/Effect"

import type { Seller } from "../Seller.ts"
import * as WebRequest from "./WebRequest.ts"

/** The end of one execution. */
export class ExchangeEnd {
  readonly #seller: Pick<Seller, "run">
  #over: (reported: Promise<unknown> | undefined) => void = () => undefined

  constructor(seller: Pick<Seller, "run">) {
    this.#seller = seller
  }

  /**
   * Has the host stay alive until the end is reported, if it has a means for that. Call it in the scope of the request: hosts take no work
   * outside of it (`after` of Next), and a body ends there.
   */
  keepAlive(beside: ReadonlyArray<unknown>): void {
    const keep = WebRequest.keeperIn(beside)
    if (keep === undefined) return
    const over = new Promise<unknown>((resolve) => {
      this.#over = resolve
    })
    try {
      keep(over)
    } catch (error) {
      // Money may have moved: the response leaves, and its end is reported all the same.
      void this.#seller.run(
        Effect.logWarning("the host does not stay alive until the end of a paid request is reported", error)
      )
    }
  }

  /** Reports the end. Only the first report counts, and the host waits for that one. */
  report(end: Effect.Effect<void>): void {
    this.#over(this.#seller.run(end).catch(() => undefined))
  }

  /** There is nothing to report, or it is reported already. */
  none(): void {
    this.#over(undefined)
  }
}
