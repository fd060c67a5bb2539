/**
 * Sells handlers of a NestJS application per request, on Express and on Fastify: a module, a decorator, and a guard and an
 * interceptor that work behind them.
 */
import "reflect-metadata"

export { Meter, Paid, Payment } from "./payment.decorator.ts"
export { PaymentRefusedException } from "./payment.exception.ts"
export { PaymentGuard } from "./payment.guard.ts"
export { ResponseNotHeld, maximumHeldBytes } from "./payment.held.ts"
export { PaymentModule } from "./payment.module.ts"
export type { PaymentModuleAsyncOptions, PaymentModuleOptions } from "./payment.options.ts"
export { PaymentRoutes } from "./payment.routes.ts"
