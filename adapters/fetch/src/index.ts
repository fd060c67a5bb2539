/**
 * A `fetch` that pays for what it asks: wrap the one you have, say what may be paid, and use it as before.
 */
export { facilitatorLookup, type PaymentLookup } from "./FacilitatorLookup.ts"
export type { FetchFunction } from "./OutgoingRequest.ts"
export { make, settlementOf, wrapFetch, type PayingFetch, type PayingFetchOptions } from "./PayingFetch.ts"
