/**
 * The facilitator as an HTTP service. `serve` runs it inside another program, `layer` is the same as a layer, and `main` (not
 * exported) runs it as a process.
 */
export * as ApiKey from "./callers/ApiKey.ts"
export type { CallerTerms, RateTerms, Registration, WebhookTerms } from "./callers/CallerTerms.ts"
export { DiscoveredResource } from "./discovery/DiscoveredResource.ts"
export type { Options as DiscoveryOptions } from "./discovery/Discovery.ts"
export { FacilitatorHttpApi } from "./api/FacilitatorHttpApi.ts"
export * as FacilitatorMetrics from "./metrics/FacilitatorMetrics.ts"
export * as FacilitatorProcess from "./FacilitatorProcess.ts"
export { layer, serve, type Options, type Running } from "./api/FacilitatorServer.ts"
export * as FacilitatorSettings from "./settings/FacilitatorSettings.ts"
export * as MeteredPaymentStore from "./metrics/MeteredPaymentStore.ts"
export { PaymentExport, PaymentPage } from "./http/PaymentExport.ts"
export { ReadinessReport } from "./readiness/Readiness.ts"
export type { Rate } from "./callers/RateLimiter.ts"
export { WebhookBody } from "./webhooks/WebhookBody.ts"
export * as WebhookDeliverer from "./webhooks/WebhookDeliverer.ts"
export { verifyWebhook } from "./webhooks/WebhookSignature.ts"
