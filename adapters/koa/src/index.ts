/**
 * Sells the routes of a Koa application per request.
 */
export { meterOf, settlementOf } from "./PaidResponse.ts"
export { paymentMiddleware, paymentRoutes, type PaymentOptions, type PaymentRoutes } from "./PaymentMiddleware.ts"
export type { LayeredRouter, RouterLayer } from "./RouterLayer.ts"
export type { LayeredApp } from "./RouterOrder.ts"
export type { RouteConfig } from "@pontage/core"
