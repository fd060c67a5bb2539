/**
 * The facilitator's records in PostgreSQL, for any number of instances; a shop's kept responses; and the ledger of payment
 * channels.
 */
export * as PostgresChannelStore from "./PostgresChannelStore.ts"
export * as PostgresResponseStore from "./PostgresResponseStore.ts"
export type { Options as LeaseOptions } from "./postgres/PostgresLaneLeases.ts"
export * as PostgresPaymentStore from "./PostgresPaymentStore.ts"
