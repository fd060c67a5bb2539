/**
 * A real PostgreSQL for tests, with nothing to set up.
 */
export * as PostgresServer from "./PostgresServer.ts"
export * as ReservedPort from "./ReservedPort.ts"
