/**
 * One sold request on the web platform: a `Request` comes in, a `Response` goes out. Decides, runs the handler, holds its
 * response back where the payment settles after it, and reports how the execution ended.
 */
import type { ExecutionOutcome } from "../../facilitator/Facilitator.ts"
import type { Settlement } from "../../protocol/Settlement.ts"
import type { HeaderFields } from "../../wire/pontage/Dialect.ts"
import {
  type Decision,
  type GateRequest,
  type Granted,
  headersOf,
  outcomeOfStatus,
  type SettleAfter
} from "../http/Decision.ts"
import type { GateResponse } from "../http/GateResponse.ts"
import type { KeptResponse } from "../http/KeptResponse.ts"
import * as PaymentMeter from "../http/PaymentMeter.ts"
import * as ResponseHeaders from "../http/ResponseHeaders.ts"
import type { PricedRoute } from "../route/PricedRoute.ts"
import type { Seller } from "../Seller.ts"
import { ExchangeEnd } from "./ExchangeEnd.ts"
import * as HeldBody from "./HeldBody.ts"
import * as MeteredBody from "./MeteredBody.ts"
import * as RequestMarks from "./RequestMarks.ts"
import * as SignedResponse from "./SignedResponse.ts"
import * as WatchedBody from "./WatchedBody.ts"
import * as WebRequest from "./WebRequest.ts"

/** A request of a host, and the host's own means. */
export interface WebHost {
  readonly request: Request
  /** Everything that the host gives beside the request: the server in Bun, bindings and context in Workers. */
  readonly beside: ReadonlyArray<unknown>
  /** The facts that the host's own parsers have found. */
  readonly facts: WebRequest.WebFacts
  /** Runs everything behind the gate. */
  readonly handle: () => Response | Promise<Response>
  /** The headers that the application has set so far; default none. */
  readonly headers?: () => Headers
  /** The host's own object for this request: it stays where middleware behind the gate puts another `Request` in the place of this one. */
  readonly context?: object
  /** The status of a response that the application has sent by other means of its host, so that it cannot be made anew; else `undefined`. */
  readonly sentStatus?: (response: Response) => number | undefined
}

/**
 * The receipt of the payment that opened this request; `undefined` if nothing was paid (with `settle: "after-handler"` it
 * exists only after the handler).
 */
export const settlementOf = (request: Request): Settlement | undefined => RequestMarks.settlementOf(request)

/** A response of the gate, over the headers that the application has set so far. */
export const responseOf = ({ body, headers, status }: GateResponse, before?: Headers): Response =>
  new Response(body === "" ? null : body, {
    status,
    // A record, where nothing has to be joined: `Headers` check and sort what they hold, and hosts copy it again.
    headers: before === undefined || isEmpty(before) ? headers : laid(before, { headers })
  })

/**
 * Decides a request, and resolves with its response. Rejects as the handler does. A request that has paid for this route
 * passes.
 */
export const respond = async (seller: Seller, route: PricedRoute, host: WebHost): Promise<Response> => {
  const { beside, facts, handle, request } = host
  if (markedOf(host).some((one) => RequestMarks.isOpen(one, route))) return handle()
  return new WebExchange(seller, route, host).respond(new WebRequest.WebRequest(request, facts, beside))
}

/** The objects by which the application finds what is noted of a request. */
const markedOf = ({ context, request }: WebHost): ReadonlyArray<object> =>
  context === undefined ? [request] : [request, context]

class WebExchange {
  readonly #seller: Seller
  readonly #route: PricedRoute
  readonly #host: WebHost
  readonly #end: ExchangeEnd

  constructor(seller: Seller, route: PricedRoute, host: WebHost) {
    this.#seller = seller
    this.#route = route
    this.#host = host
    this.#end = new ExchangeEnd(seller)
  }

  respond(request: GateRequest): Response | Promise<Response> {
    const deciding = this.#seller.decide(this.#route, request)
    return deciding instanceof Promise ? deciding.then((decision) => this.#act(decision)) : this.#act(deciding)
  }

  #act(decision: Decision): Response | Promise<Response> {
    switch (decision._tag) {
      case "Free":
        return this.#host.handle()
      case "Refused":
        return responseOf(decision.response, this.#host.headers?.())
      case "Repeated":
        return repeated(decision.response)
      case "Granted":
        return this.#ended(this.#grant(decision))
      case "SettleAfter":
        return this.#ended(this.#hold(decision))
    }
  }

  /** An error that ends the exchange was reported before, if it has to be. */
  async #ended(exchange: Promise<Response>): Promise<Response> {
    try {
      return await exchange
    } catch (error) {
      this.#end.none()
      throw error
    }
  }

  async #grant(granted: Granted): Promise<Response> {
    this.#end.keepAlive(this.#host.beside)
    const finish = (outcome: ExecutionOutcome) => this.#end.report(granted.finish(outcome))
    if (this.#isGone()) return this.#forget(() => finish("notRun"))
    for (const one of markedOf(this.#host)) {
      RequestMarks.open(one, this.#route)
      RequestMarks.settle(one, granted.settlement)
      if (granted.meter !== undefined) PaymentMeter.attach(one, granted.meter)
    }
    const response = await this.#run(() => finish("failed"))
    return this.#send(granted, response)
  }

  /** Lets a paid response leave. One that the platform cannot send ends the execution, and the host answers the error. */
  async #send(granted: Granted, response: Response): Promise<Response> {
    try {
      if (isRead(response)) throw new TypeError(readBody)
      if (granted.receipt !== undefined) this.#demandUnsent(response)
      return await (granted.receipt === undefined ? this.#deliver(granted, response) : this.#sign(granted, response))
    } catch (error) {
      this.#end.report(granted.finish("failed"))
      throw error
    }
  }

  /** Signs the receipt of a response that it covers. A response that is too long, or breaks off, leaves with the one that covers none. */
  async #sign(granted: Granted, response: Response): Promise<Response> {
    const { body, status, statusText } = response
    if (status < 200 || granted.receipt === undefined) return this.#deliver(granted, response)
    const encoding = response.headers.get("content-encoding") ?? undefined
    const begun =
      body === null ? { bytes: new Uint8Array() } : await HeldBody.beginningOf(body, this.#host.request.signal)
    if (this.#isGone()) return this.#forget(() => this.#end.report(granted.finish("failed")))
    const again = (stream: BodyInit | null) => new Response(stream, { status, statusText, headers: response.headers })
    if (begun.bytes === undefined) return this.#deliver(granted, again(begun.stream))
    const receipt = await this.#seller.run(granted.receipt({ status, body: begun.bytes, encoding }))
    return this.#deliver(SignedResponse.withReceipt(granted, receipt), body === null ? response : again(begun.bytes))
  }

  /** Runs the handler; `failed` is called if it throws, and the host answers the error. */
  async #run(failed: () => void): Promise<Response> {
    try {
      return sendable(await this.#host.handle())
    } catch (error) {
      failed()
      throw error
    }
  }

  /** A response that can be held back. Throws for one that the application has sent. */
  #demandUnsent(response: Response): Response {
    if (this.#host.sentStatus?.(response) !== undefined) throw new HeldBody.NotHeld(sentAlready)
    return response
  }

  /** Adds the receipt, and reports the end of the response when its body has left. */
  #deliver(granted: Granted, response: Response): Response {
    const sent = this.#host.sentStatus?.(response)
    const finish = (delivered: boolean) =>
      this.#end.report(granted.finish(delivered ? outcomeOfStatus(sent ?? response.status) : "failed"))
    if (sent !== undefined) {
      granted.meter?.begin(sent, noBody)
      finish(!this.#isGone())
      return response
    }
    const { body, status, statusText } = response
    // A network error, and an upgraded connection: neither can be made anew.
    if (status < 200) {
      finish(status === 101)
      return response
    }
    const header = (name: string) => response.headers.get(name) ?? undefined
    const headers = laid(response.headers, { headers: headersOf(granted, status, header) })
    if (body === null || this.#host.request.method.toUpperCase() === "HEAD") {
      void body?.cancel().catch(() => undefined)
      granted.meter?.begin(status, noBody)
      const bodiless = new Response(null, { status, statusText, headers })
      finish(!this.#isGone())
      return bodiless
    }
    if (granted.endsAtHead !== undefined && response.status < granted.endsAtHead) {
      const whole = new Response(body, { status, statusText, headers })
      finish(!this.#isGone())
      return whole
    }
    const metered = granted.meter === undefined ? body : MeteredBody.join(body, response, granted.meter)
    const { signal } = this.#host.request
    const watched = WatchedBody.watch(metered, signal, watchOf(granted, response, { end: this.#end, signal }))
    return new Response(watched, { status, statusText, headers })
  }

  async #hold(settleAfter: SettleAfter): Promise<Response> {
    this.#end.keepAlive(this.#host.beside)
    const abandon = (outcome: "failed" | "notRun") => this.#end.report(settleAfter.abandon(outcome))
    if (this.#isGone()) return this.#forget(() => abandon("notRun"))
    for (const one of markedOf(this.#host)) RequestMarks.open(one, this.#route)
    const before = new Headers(this.#host.headers?.())
    const held = await this.#run(() => abandon("failed"))
      .then((response) => heldOf(this.#demandUnsent(response), this.#host.request.signal))
      .catch((error: unknown) => {
        abandon("failed")
        throw error
      })
    if (this.#isGone()) return this.#forget(() => abandon("failed"))
    const completed = await this.#seller.run(settleAfter.complete(held.status))
    switch (completed._tag) {
      case "Uncharged":
        this.#end.none()
        return held
      case "Refused":
        this.#end.none()
        return responseOf(completed.response, before)
      case "Granted":
        for (const one of markedOf(this.#host)) RequestMarks.settle(one, completed.settlement)
        return this.#send(completed, held)
    }
  }

  /** The response to a client that has disconnected: no one reads it. */
  #forget(report: () => void): Response {
    report()
    return new Response(null, { status: 503 })
  }

  #isGone(): boolean {
    return this.#host.request.signal.aborted
  }
}

/** The watch over a paid body. It holds nothing of the host, whose context may hold the response. */
const watchOf = (
  granted: Granted,
  { headers, status }: Response,
  { end, signal }: { readonly end: ExchangeEnd; readonly signal: AbortSignal }
): WatchedBody.BodyWatch => ({
  enough: WatchedBody.enoughOf(headers),
  isGone: () => signal.aborted,
  over: (delivered) => end.report(granted.finish(delivered ? outcomeOfStatus(status) : "failed"))
})

/** A response without a body waits for no voucher. */
const noBody = { need: () => undefined, release: () => undefined, end: () => Promise.resolve() }

/** Whether a part of the body is gone, or goes to another reader: the rest of it is not the response. */
const isRead = ({ body, bodyUsed }: Response): boolean => bodyUsed || body?.locked === true

const readBody =
  "the handler's response has a body that is being read or was read already; return a response whose body is unread"

const sentAlready =
  'the handler has sent its response itself, so that it cannot be held back for settle: "after-handler" or a receipt that covers it; return it as a Response, or sell the route with money first and a receipt of the payment'

/** Statuses of responses without a body. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304])

/** The response without the body that its status forbids. Hosts with a `Response` of their own let one hold it, and throw when it is read. */
const sendable = (response: Response): Response => {
  const { headers, status } = response
  return bodiless.has(status) ? new Response(null, { status, headers }) : response
}

const isEmpty = (headers: Headers): boolean => headers.keys().next().done === true

/** The gate's headers over these. */
const laid = (current: Headers, { headers }: { readonly headers: HeaderFields }): Headers => {
  const all = new Headers(current)
  const fields = ResponseHeaders.over(headers, (name) => current.get(name) ?? undefined, [...current.keys()])
  for (const [name, value] of Object.entries(fields)) all.set(name, value)
  return all
}

/** The payment's response from before. Hosts of the web platform keep none so far, so that none comes. */
const repeated = ({ body, headers, status }: KeptResponse): Response => {
  const all = new Headers()
  for (const [name, value] of headers) for (const one of [value].flat()) all.append(name, one)
  return new Response(new Uint8Array(body), { status, headers: all })
}

/** The same response, wholly in memory; or as far as it came when the signal aborts. */
const heldOf = async (response: Response, signal: AbortSignal): Promise<Response> => {
  if (response.status < 200)
    throw new HeldBody.NotHeld("an upgraded connection, or a network error, cannot be held back")
  const { body } = response
  if (body === null) return response
  if (isRead(response)) throw new TypeError(readBody)
  return inMemory(response, await HeldBody.bytesOf(body, signal))
}

/** The same response with a body whose length is known: hosts say it, and a head says either that or how its body is cut into chunks. */
const inMemory = ({ headers, status, statusText }: Response, bytes: Uint8Array<ArrayBuffer>): Response => {
  const known = new Headers(headers)
  known.delete("transfer-encoding")
  return new Response(bytes, { status, statusText, headers: known })
}
