/** Sells routes of an Express application, of version 4 or 5, per request. */
export { paymentMiddleware, paymentRoutes, type PaymentRoutes, meterOf, settlementOf } from "./ExpressGate.ts"
