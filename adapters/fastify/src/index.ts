/** Sells routes of a Fastify application per request. */
export {
  paymentPlugin,
  paymentRoutes,
  type PaymentPlugin,
  type PaymentRoutes,
  meterOf,
  settlementOf
} from "./FastifyGate.ts"
