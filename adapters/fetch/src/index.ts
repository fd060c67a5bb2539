/** A `fetch` that pays for its requests: wrap the one you have, set the limits, and use it as before. */
export { facilitatorLookup, type PaymentLookup } from "./FacilitatorLookup.ts"
export type { FetchFunction } from "./OutgoingRequest.ts"
export {
  make,
  settlementOf,
  signedReceiptOf,
  streamOf,
  wrapFetch,
  type PayingFetch,
  type PayingFetchOptions
} from "./PayingFetch.ts"
