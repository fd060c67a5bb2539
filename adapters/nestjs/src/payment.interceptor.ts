/**
 * Runs the handler of a paid request: if the payment is settled after the handler, the response is held back until the
 * money has moved.
 */
import { type CallHandler, type ExecutionContext, Inject, Injectable, type NestInterceptor } from "@nestjs/common"
import { HttpAdapterHost } from "@nestjs/core"
import { type SettleAfter, ResponseSeal } from "@pontage/core"
import { defer, lastValueFrom, type Observable } from "rxjs"

import { PaymentExchange } from "./payment.exchange.ts"
import { hold } from "./payment.held.ts"
import { type HostRequest, type HostResponse, nodeResponse } from "./payment.http.ts"

/**
 * The interceptor. The module makes it the outermost one: a response from inside of it, for example from a cache, is
 * paid for like the handler's.
 */
@Injectable()
export class PaymentInterceptor implements NestInterceptor {
  readonly #host: HttpAdapterHost

  constructor(@Inject(HttpAdapterHost) host: HttpAdapterHost) {
    this.#host = host
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (context.getType() !== "http") return next.handle()
    const exchange = PaymentExchange.of(context.switchToHttp().getRequest<HostRequest>())
    if (exchange === undefined || !exchange.enter()) return next.handle()
    const { decision } = exchange
    const response = context.switchToHttp().getResponse<HostResponse>()
    switch (decision._tag) {
      case "Free":
      case "Granted":
        return next.handle()
      case "SettleAfter":
        return defer(() => this.#held(response, exchange, decision, next))
    }
  }

  /**
   * A response that the handler sends by itself is cut off. One that Nest or a filter makes of its result or its exception
   * is held back. A response whose client has disconnected is not charged: its end abandons the payment.
   */
  async #held(
    response: HostResponse,
    exchange: PaymentExchange,
    settleAfter: SettleAfter,
    next: CallHandler
  ): Promise<unknown> {
    const letGo = ResponseSeal.hold(nodeResponse(response))
    try {
      return await hold(await lastValueFrom(next.handle(), { defaultValue: undefined }))
    } finally {
      letGo()
      const isEnded = exchange.isOver || exchange.isGone || this.#host.httpAdapter.isHeadersSent(response)
      if (!isEnded) exchange.settle(settleAfter)
    }
  }
}
