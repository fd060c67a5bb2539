/**
 * The facilitator as an HTTP service: `serve` runs it inside another program on any port, `layer` is the same as a layer,
 * `main` (not exported) runs it as a process.
 */
export * as ApiKey from "./ApiKey.ts"
export type { CallerTerms, RateTerms, Registration, WebhookTerms } from "./CallerTerms.ts"
export { FacilitatorHttpApi } from "./FacilitatorHttpApi.ts"
export * as FacilitatorMetrics from "./FacilitatorMetrics.ts"
export * as FacilitatorProcess from "./FacilitatorProcess.ts"
export { layer, serve, type Options, type Running } from "./FacilitatorServer.ts"
export * as FacilitatorSettings from "./FacilitatorSettings.ts"
export * as MeteredPaymentStore from "./MeteredPaymentStore.ts"
export { PaymentExport, PaymentPage } from "./PaymentExport.ts"
export type { Rate } from "./RateLimiter.ts"
export { WebhookBody } from "./WebhookBody.ts"
export * as WebhookDeliverer from "./WebhookDeliverer.ts"
export { verifyWebhook } from "./WebhookSignature.ts"
