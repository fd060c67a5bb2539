/**
 * The facilitator's records in one file, for one process; and a shop's kept responses in another.
 */
export * as SqliteResponseStore from "./SqliteResponseStore.ts"
export * as SqlitePaymentStore from "./SqlitePaymentStore.ts"
