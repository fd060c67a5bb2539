/** Sells routes of a Hono application per request. */
export { paymentMiddleware, paymentRoutes, type PaymentRoutes, settlementOf } from "./HonoGate.ts"
