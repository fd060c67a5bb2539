/**
 * The description of a call: the parameters and the body that a route takes, and its response, as JSON Schemas with examples.
 * Discovery documents carry it for buyers and their agents; nothing is decided by it.
 */
import type * as Schema from "effect/Schema"

/** A JSON Schema (draft 2020-12) as plain JSON. */
export type JsonSchema = Schema.JsonObject

/** The parts of a request that a call may describe. */
export const callParts = ["query", "params", "body"] as const

/** The parameters and the body of a request. `{}` says that it takes none. */
export interface CallInput {
  /** Schema of the query: an object whose properties are its parameters. */
  readonly query?: JsonSchema
  /** Schema of the path parameters: an object whose properties are the names in the route's key. */
  readonly params?: JsonSchema
  /** Schema of the body. */
  readonly body?: JsonSchema
  /** Form of the body; default `json`. */
  readonly bodyType?: "json" | "form-data" | "text"
  /** A value for each schema; needed for a schema with required properties, and for every body. */
  readonly example?: {
    readonly query?: Schema.JsonObject
    readonly params?: Schema.JsonObject
    readonly body?: Schema.Json
  }
}

/** The response of a call. */
export interface CallOutput {
  /** Schema of the body. */
  readonly schema?: JsonSchema
  /** An example of the body. */
  readonly example?: Schema.Json
}

/** A call of a route. */
export interface CallDescription {
  /** Method in upper case. */
  readonly method: string
  /** The path of the route's key if it names parameters: `/reports/:day`. */
  readonly template: string | undefined
  readonly input: CallInput
  readonly output: CallOutput | undefined
}
