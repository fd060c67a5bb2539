/**
 * The facilitator's records in PostgreSQL, for any number of instances; and a shop's kept responses.
 */
export * as PostgresResponseStore from "./PostgresResponseStore.ts"
export type { Options as LeaseOptions } from "./postgres/PostgresLaneLeases.ts"
export * as PostgresPaymentStore from "./PostgresPaymentStore.ts"
