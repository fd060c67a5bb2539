/**
 * The facilitator's records in one file, for one process; and, each in another file, a shop's kept responses and the
 * ledger of payment channels.
 */
export * as SqliteChannelStore from "./SqliteChannelStore.ts"
export * as SqliteResponseStore from "./SqliteResponseStore.ts"
export * as SqlitePaymentStore from "./SqlitePaymentStore.ts"
