/**
 * A real PostgreSQL for tests, with nothing to set up, and tables as an earlier release has left them.
 */
export * as OlderSchema from "./OlderSchema.ts"
export * as PostgresServer from "./PostgresServer.ts"
export * as ReservedPort from "./ReservedPort.ts"
