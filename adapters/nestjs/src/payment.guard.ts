/**
 * The guards before paid handlers. They call the gate and translate: a refusal becomes an exception, a granted payment
 * an exchange that the interceptor continues. A response from before leaves at once.
 */
import { type CanActivate, type ExecutionContext, Inject, Injectable } from "@nestjs/common"
import { HttpAdapterHost } from "@nestjs/core"
import { type Decision, type Granted, Misconfigured, type SettleAfter, UpgradeRequest } from "@pontage/core"

import { PaymentRefusedException } from "./payment.exception.ts"
import { PaymentExchange } from "./payment.exchange.ts"
import {
  gateRequest,
  type HostRequest,
  type HostResponse,
  isTaken,
  layOver,
  layPaid,
  nodeRequest,
  nodeResponse,
  repeat,
  signBefore,
  whenOver
} from "./payment.http.ts"
import { PaymentRoutes, type Sale } from "./payment.routes.ts"

/**
 * The guard that `@Paid` puts on a handler or controller, at the decorator's place. It admits no request to a handler
 * without a price from the start.
 */
@Injectable()
export class PaymentGuard implements CanActivate {
  protected readonly routes: PaymentRoutes
  readonly #host: HttpAdapterHost

  constructor(@Inject(PaymentRoutes) routes: PaymentRoutes, @Inject(HttpAdapterHost) host: HttpAdapterHost) {
    this.routes = routes
    this.#host = host
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const sale = this.routes.find(context.getClass(), context.getHandler())
    if (sale !== undefined) return this.sell(context, sale)
    throw new Misconfigured({
      message: `${context.getClass().name}.${context.getHandler().name}: @Paid on a handler without a price`
    })
  }

  /** Admits the request if it may pass; a request that has already paid for this route passes. */
  protected sell(context: ExecutionContext, sale: Sale): boolean | Promise<boolean> {
    const request = context.switchToHttp().getRequest<HostRequest>()
    if (PaymentExchange.of(request)?.route === sale.route) return true
    const decision = sale.seller.decide(sale.route, gateRequest(this.#host.httpAdapter, request))
    return decision instanceof Promise
      ? decision.then((decided) => this.#act(context, sale, decided))
      : this.#act(context, sale, decision)
  }

  #act(context: ExecutionContext, sale: Sale, decision: Decision): boolean | Promise<boolean> {
    const http = context.switchToHttp()
    const request = http.getRequest<HostRequest>()
    const response = http.getResponse<HostResponse>()
    if (decision._tag === "Refused") {
      layOver(this.#host.httpAdapter, response, decision.response.headers)
      throw PaymentRefusedException.of(decision.response)
    }
    if (decision._tag === "Repeated") {
      repeat(response, decision.response)
      return nothingMore()
    }
    const exchange = new PaymentExchange(sale, decision, request, response)
    if (decision._tag === "Free") return true
    if (isTaken(request, response)) {
      exchange.end(false, nodeResponse(response).statusCode)
      return false
    }
    if (isUnsold(nodeRequest(request), decision)) {
      exchange.end(false, UpgradeRequest.refusal.status)
      layOver(this.#host.httpAdapter, response, UpgradeRequest.refusal.headers)
      throw PaymentRefusedException.of(UpgradeRequest.refusal)
    }
    if (decision._tag === "Granted") layPaid(this.#host.httpAdapter, response, decision)
    const { endsAtHead, meter, sink }: Partial<Pick<Granted, "endsAtHead" | "meter" | "sink">> =
      decision._tag === "Granted" ? decision : {}
    const keeping = { sink, endsAtHead, meter, run: sale.seller.run }
    whenOver(request, response, keeping, (delivered, status) => exchange.end(delivered, status))
    if (decision._tag === "Granted") signBefore(response, decision, sale.seller.run)
    return !exchange.isOver
  }
}

/** Whether a request asks for a WebSocket that its route cannot charge for. */
const isUnsold = (request: ReturnType<typeof nodeRequest>, decision: Granted | SettleAfter): boolean =>
  (decision._tag === "SettleAfter" || decision.meter !== undefined) && UpgradeRequest.isWebSocket(request)

/**
 * Ends a request whose response has left. A guard that refused would hand the request to the filters of the application,
 * and one that writes a response of its own breaks off the one that leaves.
 */
const nothingMore = (): Promise<boolean> => new Promise(() => undefined)

/**
 * The guard that runs after all other global guards: it sells the handlers of the module's map, and leaves `@Paid`
 * handlers to their own guard.
 */
@Injectable()
export class RouteMapGuard extends PaymentGuard {
  override canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const sale = this.routes.find(context.getClass(), context.getHandler())
    return sale?.by === "map" ? this.sell(context, sale) : true
  }
}
