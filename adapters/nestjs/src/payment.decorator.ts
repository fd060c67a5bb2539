/** The decorators of an application: `@Paid` on sold handlers, `@Payment` on the parameter for the receipt. */
import {
  applyDecorators,
  createParamDecorator,
  type ExecutionContext,
  SetMetadata,
  UseFilters,
  UseGuards
} from "@nestjs/common"
import { PaymentMeter, type RouteConfig, type Settlement } from "@pontage/core"

import { PaymentExchange } from "./payment.exchange.ts"
import { PaymentRefusedFilter } from "./payment.filter.ts"
import { PaymentGuard } from "./payment.guard.ts"
import { type HostRequest, nodeRequest } from "./payment.http.ts"
import { PAID_METADATA } from "./payment.tokens.ts"

/**
 * Sells a handler, or every handler of a controller; on a handler it overrides the controller's. Without `PaymentModule`
 * in the application nothing starts. Guards that are written below it (and those of the controller, and global ones) run
 * before it: keep it on top, so that no buyer pays for a refusal.
 *
 * ```ts
 * @Get("report")
 * @Paid({ network: "eip155:8453", price: "$0.01", payTo: "0x…" })
 * report(@Payment() payment: Settlement.Settlement) { … }
 * ```
 */
export const Paid = (config: RouteConfig): ClassDecorator & MethodDecorator =>
  applyDecorators(SetMetadata(PAID_METADATA, config), UseGuards(PaymentGuard), UseFilters(PaymentRefusedFilter))

/**
 * The receipt of the payment that opened the request (`Settlement`). `undefined` if nothing was paid: at a price of
 * zero, on a free handler, and with `settle: "after-handler"`, where the money moves after the handler.
 */
export const Payment = createParamDecorator(
  (_data: unknown, context: ExecutionContext): Settlement.Settlement | undefined =>
    PaymentExchange.of(context.switchToHttp().getRequest<HostRequest>())?.settlement
)

/**
 * The meter of the request on a metered route (`PaymentMeter.PaymentMeter`); `undefined` where the route is not metered, or nothing was
 * paid.
 */
export const Meter = createParamDecorator(
  (_data: unknown, context: ExecutionContext): PaymentMeter.PaymentMeter | undefined =>
    PaymentMeter.of(nodeRequest(context.switchToHttp().getRequest<HostRequest>()))
)
