/**
 * One paid request, from the guard that admitted it to the end of its response. The guard opens it, the interceptor
 * runs the handler, and the end of the response alone decides the outcome: streams fail late.
 */
import {
  type SettleAfter,
  type Free,
  type GateResponse,
  type Granted,
  type ExecutionOutcome,
  HeldBody,
  HeldResponse,
  type PricedRoute,
  ResponseCapture,
  ResponseSeal,
  ResponseWatch,
  outcomeOfStatus,
  type Seller,
  type Settlement,
  SignedResponse
} from "@pontage/core"
import type * as Effect from "effect/Effect"

import {
  headersNow,
  type HeaderSnapshot,
  type HostRequest,
  type HostResponse,
  nodeRequest,
  nodeResponse
} from "./payment.http.ts"

const exchanges = new WeakMap<object, PaymentExchange>()

/** Nest's own mark on a request whose pipes threw: the handler was not reached. */
const rejectedByPipes = Symbol.for("nestjs:rejected-by-pipes")

/** The state of a paid request. */
export class PaymentExchange {
  readonly route: PricedRoute
  /** The response's headers before the handler and its decorators set any. */
  readonly #headersBefore: HeaderSnapshot
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
    this.#headersBefore = decision._tag === "SettleAfter" ? headersNow(response) : {}
    this.#seller = seller
    this.#request = request
    this.#response = response
    this.#decision = decision
    exchanges.set(request, this)
    ResponseCapture.noteOuter(nodeResponse(response))
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

  /**
   * Holds back what is sent from now on, the handler's result or a filter's response to its exception, until it is whole
   * and paid for. Its status alone decides whether it is charged: a value that cannot be serialised becomes a 500 before
   * that.
   */
  settle(settleAfter: SettleAfter): void {
    const response = nodeResponse(this.#response)
    HeldResponse.hold(response, {
      ended: (held) => {
        // After the shop has closed the payment cannot settle, so the response is not to leave.
        this.#complete(settleAfter, held).catch(HeldResponse.breakOff(response, this.#seller.run))
      },
      overflowed: (held) => held.replace(tooLong(), this.#headersBefore)
    })
  }

  /** The end of a response that is not charged here abandons the payment. */
  async #complete(settleAfter: SettleAfter, held: HeldResponse.HeldResponse): Promise<void> {
    if (this.#over || this.isGone) return
    const response = nodeResponse(this.#response)
    if (!this.#wasReached()) {
      const { cache, dialects } = this.route
      HeldResponse.layOver(response, { "Cache-Control": cache, Vary: dialects.paymentHeaders })
      return held.release()
    }
    this.#completing = true
    const completed = await this.#seller.run(settleAfter.complete(response.statusCode))
    switch (completed._tag) {
      case "Uncharged":
        return held.release()
      case "Refused":
        return held.replace(completed.response, this.#headersBefore)
      case "Granted":
        return this.#release(completed, held)
    }
  }

  /** Lets a paid response leave, with the receipt that covers it. */
  async #release(granted: Granted, held: HeldResponse.HeldResponse): Promise<void> {
    const response = nodeResponse(this.#response)
    const receipt = await SignedResponse.headersFor(granted, response, held.body(), this.#seller.run)
    const paid = SignedResponse.withReceipt(granted, receipt)
    this.#decision = paid
    ResponseSeal.sealPaid(response, paid)
    this.#keep(paid)
    held.release()
  }

  /** Keeps the held response, if that may come again, as soon as it leaves. */
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

const tooLong = (): GateResponse => {
  const { message, status } = HeldBody.tooLong()
  return {
    status,
    headers: { "Content-Type": "application/json; charset=utf-8", "Cache-Control": "no-store" },
    body: JSON.stringify({ statusCode: status, message })
  }
}
