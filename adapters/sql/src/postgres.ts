/**
 * The facilitator's records in PostgreSQL, for any number of instances.
 */
export type { Options as LeaseOptions } from "./postgres/PostgresLaneLeases.ts"
export * as PostgresPaymentStore from "./PostgresPaymentStore.ts"
