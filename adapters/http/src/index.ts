/**
 * Sells the routes of a fetch handler, `(Request) => Response`, per request. It uses nothing of Node.
 */
export {
  type FetchHandler,
  meterOf,
  paymentHandler,
  paymentRoutes,
  type PaymentOptions,
  type PaymentRoutes,
  settlementOf
} from "./PaymentHandler.ts"
