/** Sells routes of a Hono application per request. */
export { paymentMiddleware, paymentRoutes, type PaymentRoutes, meterOf, settlementOf } from "./HonoGate.ts"
