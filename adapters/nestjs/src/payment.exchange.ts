/**
 * One paid request, from the guard that admitted it to the end of its response. The guard opens it, the interceptor
 * runs the handler, and the end of the response alone decides the outcome: streams fail late.
 */
import {
  type SettleAfter,
  type Free,
  type Granted,
  type ExecutionOutcome,
  type PricedRoute,
  type Refused,
  ResponseCapture,
  ResponseWatch,
  outcomeOfStatus,
  type Seller,
  type Settlement,
  type Uncharged
} from "@pontage/core"
import type * as Effect from "effect/Effect"

import {
  headersNow,
  type HeaderSnapshot,
  type HostRequest,
  type HostResponse,
  nodeRequest,
  nodeResponse,
  signBefore
} from "./payment.http.ts"

const exchanges = new WeakMap<object, PaymentExchange>()

/** Nest's own mark on a request whose pipes threw: the handler was not reached. */
const rejectedByPipes = Symbol.for("nestjs:rejected-by-pipes")

/** The state of a paid request. */
export class PaymentExchange {
  readonly route: PricedRoute
  /** The response's headers before the handler and its decorators set any. */
  readonly headersBefore: HeaderSnapshot
  readonly #seller: Seller.Seller
  readonly #request: HostRequest
  readonly #response: HostResponse
  #decision: Free | Granted | SettleAfter
  #passedGuards = false
  #completing = false
  #over = false

  constructor(
    { route, seller }: { readonly route: PricedRoute; readonly seller: Seller.Seller },
    decision: Free | Granted | SettleAfter,
    request: HostRequest,
    response: HostResponse
  ) {
    this.route = route
    this.headersBefore = decision._tag === "SettleAfter" ? headersNow(response) : {}
    this.#seller = seller
    this.#request = request
    this.#response = response
    this.#decision = decision
    exchanges.set(request, this)
  }

  /** The exchange of a request that paid. */
  static of(request: HostRequest): PaymentExchange | undefined {
    return exchanges.get(request)
  }

  /** The decision; a `SettleAfter` becomes `Granted` when it is complete. */
  get decision(): Free | Granted | SettleAfter {
    return this.#decision
  }

  /** The receipt, once the money has moved. */
  get settlement(): Settlement.Settlement | undefined {
    return this.#decision._tag === "Granted" ? this.#decision.settlement : undefined
  }

  /** Whether the response has ended or its client has disconnected. */
  get isOver(): boolean {
    return this.#over
  }

  /** Whether the connection is closed, before the response shows it. */
  get isGone(): boolean {
    return ResponseWatch.isGone(nodeRequest(this.#request), nodeResponse(this.#response))
  }

  /** Marks that every guard has accepted the request. True the first time only. */
  enter(): boolean {
    const first = !this.#passedGuards
    this.#passedGuards = true
    return first
  }

  /** Completes a payment that settles after the handler, with the status of the held response. */
  async complete(settleAfter: SettleAfter, status: number): Promise<Granted | Uncharged | Refused> {
    this.#completing = true
    const completed = await this.#seller.run(settleAfter.complete(status))
    if (completed._tag === "Granted") {
      this.#decision = completed
      this.#keep(completed)
    }
    return completed
  }

  /** Holds the response until its receipt is signed. Call it after `layPaid`. */
  sign(granted: Granted): void {
    signBefore(this.#response, granted, this.#seller.run)
  }

  /** Keeps the held response, if that may come again, as soon as Nest sends it. */
  #keep({ finish, sink }: Granted): void {
    const failed = () => (this.#over ? this.#report(finish("failed")) : undefined)
    if (sink === undefined) return failed()
    ResponseCapture.copy(nodeResponse(this.#response), sink.maximumBytes, (response) => {
      const keeping = response === undefined ? Promise.resolve() : this.#seller.run(sink.keep(response))
      void keeping.then(failed)
    })
    if (this.#over) this.#report(sink.cut)
  }

  /** The response has ended with this status, or was cut off. */
  end(delivered: boolean, status: number): void {
    if (this.#over) return
    this.#over = true
    const decision = this.#decision
    if (decision._tag === "Granted") this.#report(decision.finish(this.#outcome(delivered, status)))
    if (decision._tag === "SettleAfter" && !this.#completing) {
      this.#report(decision.abandon(this.#wasReached() ? "failed" : "notRun"))
    }
  }

  /**
   * The outcome of a response. A guard's refusal costs no execution, with any status. A request that pipes reject may
   * be corrected; it is never the product of a route that charges for refusals.
   */
  #outcome(delivered: boolean, status: number): ExecutionOutcome {
    if (!this.#passedGuards) return "notRun"
    const outcome = delivered ? outcomeOfStatus(status) : "failed"
    if (this.#wasReached()) return outcome
    return outcome === "refused" && this.route.refused === "reusable" ? "refused" : "notRun"
  }

  #wasReached(): boolean {
    return this.#passedGuards && Reflect.get(this.#request, rejectedByPipes) !== true
  }

  /**
   * Runs a report without waiting. It fails only after the shop has closed; the facilitator then notices the missing
   * report by itself.
   */
  #report(end: Effect.Effect<void>): void {
    this.#seller.run(end).catch(() => undefined)
  }
}
