/**
 * The facilitator's records in one file, for one process.
 */
export * as SqlitePaymentStore from "./SqlitePaymentStore.ts"
