/**
 * The extension `bazaar` of x402 version 2: the call of a resource, as an example and a JSON Schema of that example, by which
 * facilitators and agents index it (x402 specification, extensions/bazaar). Payers repeat it in their payments.
 */
import type * as Schema from "effect/Schema"

import type { CallDescription, CallInput, CallOutput } from "../../protocol/CallDescription.ts"

/**
 * Limit on the extension as JSON, in bytes. A payer repeats it in a header. A longer description loses its output first, and
 * is left out if that is not enough; `/openapi.json` carries it all the same.
 */
export const maximumBytes = 2048

/** The extension under its name. */
type Extension = Readonly<Record<"bazaar", Schema.JsonObject>>

const remembered = new WeakMap<CallDescription, Extension | "none">()

/** The extension for a call; `undefined` if it does not fit. */
export const of = (call: CallDescription): Extension | undefined => {
  const known = remembered.get(call) ?? [call, { ...call, output: undefined }].map(extension).find(fits) ?? "none"
  remembered.set(call, known)
  return known === "none" ? undefined : known
}

const encoder = new TextEncoder()

const fits = (value: Extension): boolean => encoder.encode(JSON.stringify(value)).length <= maximumBytes

const extension = ({ input: written, method, output, template }: CallDescription): Extension => {
  const input = filled(written)
  return {
    bazaar: {
      info: { input: inputInfo(method, input), ...(output && { output: outputInfo(output) }) },
      schema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        properties: { input: inputSchema(method, input), ...(output && { output: outputSchema(output) }) },
        required: ["input"]
      },
      ...(template !== undefined && { routeTemplate: template })
    }
  }
}

/** Readers look for a body or a query: a call without either has an empty query. */
const filled = (input: CallInput): CallInput =>
  input.body === undefined && input.query === undefined ? { ...input, query: { type: "object" } } : input

const inputInfo = (method: string, { body, bodyType = "json", example = {}, params, query }: CallInput) => ({
  type: "http",
  method,
  ...(query && { queryParams: example.query ?? {} }),
  ...(params && { pathParams: example.params ?? {} }),
  ...(body && { bodyType, body: example.body ?? {} })
})

const inputSchema = (method: string, { body, bodyType = "json", params, query }: CallInput) => ({
  type: "object",
  properties: {
    type: { const: "http" },
    method: { const: method },
    ...(query && { queryParams: query }),
    ...(params && { pathParams: params }),
    ...(body && { bodyType: { const: bodyType }, body })
  },
  required: ["type", "method", ...(body ? ["bodyType", "body"] : [])]
})

const outputInfo = ({ example }: CallOutput) => ({ type: "json", ...(example !== undefined && { example }) })

const outputSchema = ({ schema }: CallOutput) => ({
  type: "object",
  properties: { type: { type: "string" }, ...(schema && { example: schema }) },
  required: ["type"]
})
