/**
 * One sold request on Node's request and response, for hosts that pass both on and let a handler write when it likes:
 * decides, sends the gate's responses, holds the handler's response back where the payment settles after it, and
 * reports how the execution ended.
 */
import type { ExecutionOutcome } from "../../facilitator/Facilitator.ts"
import { type Decision, type GateRequest, type Granted, outcomeOfStatus, type SettleAfter } from "../http/Decision.ts"
import type { GateResponse } from "../http/GateResponse.ts"
import * as GrantedResponse from "../http/GrantedResponse.ts"
import type { KeptResponse } from "../http/KeptResponse.ts"
import * as ResponseSeal from "../http/ResponseSeal.ts"
import * as ResponseWatch from "../http/ResponseWatch.ts"
import * as UpgradeRequest from "../http/UpgradeRequest.ts"
import type { PricedRoute } from "../route/PricedRoute.ts"
import type { Seller } from "../Seller.ts"
import * as HeldBody from "./HeldBody.ts"
import * as HeldResponse from "./HeldResponse.ts"
import * as RequestMarks from "./RequestMarks.ts"
import * as SignedResponse from "./SignedResponse.ts"

/** A paid request of a host, and its handler. */
export interface PaidHost {
  /** Node's request. */
  readonly request: ResponseWatch.WatchableRequest
  /** Node's response. */
  readonly response: HeldResponse.NodeResponse & ResponseWatch.WatchableResponse
  /** The headers that the application has set so far. */
  readonly headers: () => HeldResponse.HeaderValues
  /** Runs everything behind the gate. */
  readonly proceed: () => void
  /** Sends a refusal before anything ran. */
  readonly refuse: (answer: GateResponse) => void
}

/** A request of a host, and the host's own means. */
export interface NodeHost extends PaidHost {
  /** Sends the payment's response from before. */
  readonly repeat: (response: KeptResponse) => void
  /** Gives the application an error of a response that came later than the call: no caller would handle it. */
  readonly fail: (error: unknown) => void
}

/** Decides a request and acts on the decision. A request that has paid for this route passes. */
export const pass = (seller: Seller, route: PricedRoute, request: GateRequest, host: NodeHost): void => {
  RequestMarks.judge(host.request)
  if (RequestMarks.isOpen(host.request, route)) return host.proceed()
  const deciding = seller.decide(route, request)
  const act = (decision: Decision) => new NodeExchange(seller, route, host).act(decision, host)
  if (!(deciding instanceof Promise)) return act(deciding)
  deciding.then(act).catch(host.fail)
}

/** The status by which a response is charged, by that with which it is sent; `notRun`: the handler was not reached. */
export type ChargedAs = (sent: number) => number | "notRun"

/** Runs everything behind the gate, and holds its response back until the payment has settled, whoever sends it. */
export const settle = (
  seller: Seller,
  route: PricedRoute,
  settleAfter: SettleAfter,
  host: PaidHost,
  chargedAs: ChargedAs
): void => new NodeExchange(seller, route, host).hold(settleAfter, chargedAs)

class NodeExchange {
  readonly #seller: Seller
  readonly #route: PricedRoute
  readonly #host: PaidHost

  constructor(seller: Seller, route: PricedRoute, host: PaidHost) {
    this.#seller = seller
    this.#route = route
    this.#host = host
  }

  act(decision: Decision, { refuse, repeat }: NodeHost): void {
    switch (decision._tag) {
      case "Free":
        return this.#host.proceed()
      case "Refused":
        return refuse(decision.response)
      case "Repeated":
        return repeat(decision.response)
      case "Granted":
        return this.#pay(decision)
      case "SettleAfter":
        return this.hold(decision, (sent) => sent)
    }
  }

  #pay(granted: Granted): void {
    const { proceed, refuse, request } = this.#host
    if (this.#isTaken()) return this.#finish(granted, "notRun")
    if (granted.meter === undefined || !UpgradeRequest.isWebSocket(request)) return this.#grant(granted, proceed)
    this.#finish(granted, "notRun")
    refuse(UpgradeRequest.refusal)
  }

  /** Goes on with a paid request; the end of its response is reported. */
  #grant(granted: Granted, proceed: () => void): void {
    const { request, response } = this.#host
    RequestMarks.open(request, this.#route)
    RequestMarks.settle(request, granted.settlement)
    ResponseSeal.sealPaid(response, granted)
    const { endsAtHead, meter, sink } = granted
    const keeping = { sink, endsAtHead, meter, run: this.#seller.run }
    GrantedResponse.watch(request, response, keeping, (delivered, status) =>
      this.#finish(granted, delivered ? outcomeOfStatus(status) : "failed")
    )
    // A response that was held already has its receipt.
    if (proceed === this.#host.proceed) SignedResponse.hold(response, granted, this.#seller.run)
    proceed()
  }

  #finish({ finish }: Granted, outcome: ExecutionOutcome): void {
    void this.#seller.run(finish(outcome))
  }

  hold(settleAfter: SettleAfter, chargedAs: ChargedAs): void {
    const { headers, proceed, refuse, request, response } = this.#host
    const abandon = (outcome: "failed" | "notRun") => void this.#seller.run(settleAfter.abandon(outcome))
    if (this.#isTaken()) return abandon("notRun")
    if (UpgradeRequest.isWebSocket(request)) {
      abandon("notRun")
      return refuse(UpgradeRequest.refusal)
    }
    RequestMarks.open(request, this.#route)
    const before = headers()
    let isCompleting = false
    // Another protocol begins before the money has moved.
    const leave = UpgradeRequest.onUpgrade(request, response, () => response.destroy())
    this.#watch(() => {
      leave()
      if (!isCompleting) abandon("failed")
    })
    HeldResponse.hold(response, {
      ended: (held) => {
        leave()
        isCompleting = true
        this.#complete(settleAfter, chargedAs, held, before).catch(HeldResponse.breakOff(response, this.#seller.run))
      },
      overflowed: (held) => {
        leave()
        isCompleting = true
        abandon("failed")
        held.replace(overflowResponse(), before)
      }
    })
    proceed()
  }

  async #complete(
    settleAfter: SettleAfter,
    chargedAs: ChargedAs,
    held: HeldResponse.HeldResponse,
    before: HeldResponse.HeaderValues
  ): Promise<void> {
    if (this.#isGone()) return void this.#seller.run(settleAfter.abandon("failed"))
    const status = chargedAs(this.#host.response.statusCode)
    if (status === "notRun") {
      void this.#seller.run(settleAfter.abandon(status))
      return held.release()
    }
    const completed = await this.#seller.run(settleAfter.complete(status))
    switch (completed._tag) {
      case "Uncharged":
        return held.release()
      case "Refused":
        return held.replace(completed.response, before)
      case "Granted":
        return this.#release(completed, held)
    }
  }

  /** Lets a paid response leave. One that may come again is kept, although its client has left. */
  async #release(granted: Granted, held: HeldResponse.HeldResponse): Promise<void> {
    const { response } = this.#host
    const { run } = this.#seller
    const receipt = granted.receipt && (await SignedResponse.headersFor(granted, response, held.body(), run))
    if (this.#isGone() && granted.sink === undefined) return this.#finish(granted, "failed")
    this.#grant(SignedResponse.withReceipt(granted, receipt), held.release)
  }

  #isTaken(): boolean {
    return ResponseWatch.isTaken(this.#host.request, this.#host.response)
  }

  #isGone(): boolean {
    return ResponseWatch.isGone(this.#host.request, this.#host.response)
  }

  #watch(notify: (delivered: boolean) => void): void {
    ResponseWatch.watch(this.#host.request, this.#host.response, notify)
  }
}

const overflowResponse = (): GateResponse => {
  const { message, status } = HeldBody.tooLong()
  return {
    status,
    headers: { "Content-Type": "application/json", "Cache-Control": "no-store" },
    body: JSON.stringify({ error: message })
  }
}
