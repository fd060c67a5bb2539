/** Sells route handlers of a Next.js application per request. */
export {
  meterOf,
  paymentRoutes,
  type PaymentRoutes,
  type PaymentRoutesOptions,
  type RouteHandler,
  settlementOf
} from "./NextGate.ts"
