/** Makes tool results from the gate's responses and receipts. */
import type { AnySchema } from "@modelcontextprotocol/sdk/server/zod-compat.js"
import {
  getParseErrorMessage,
  normalizeObjectSchema,
  safeParseAsync
} from "@modelcontextprotocol/sdk/server/zod-compat.js"
import { type CallToolResult, CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js"
import {
  CanonicalText,
  type GateResponse,
  type Granted,
  headersOf,
  type KeptResponse,
  MetaSeller,
  MppMeta,
  type SignedResponse
} from "@pontage/core"

/**
 * The gate's response to a call that is not served: the payment request, as an object and as the same text, with the
 * challenges of the Machine Payments Protocol beside it if the tool is sold by it.
 */
export const refusal = ({ body, headers }: GateResponse): CallToolResult => ({
  isError: true,
  structuredContent: JSON.parse(body),
  content: [{ type: "text", text: body }],
  ...metaFrom(headers, MppMeta.requiredKey)
})

/** A value of `_meta` that the gate has written as a header. */
const metaFrom = (headers: Granted["headers"], key: string): { readonly _meta?: Record<string, unknown> } => {
  const text = headers[key]
  return text === undefined ? {} : { _meta: { [key]: JSON.parse(text) } }
}

/** A result as a response to keep: its JSON. */
export const kept = (result: CallToolResult): KeptResponse.KeptResponse => ({
  status: 200,
  headers: [],
  body: new TextEncoder().encode(JSON.stringify(result))
})

/** The result of a kept response. */
export const repeated = ({ body }: KeptResponse.KeptResponse): CallToolResult =>
  JSON.parse(new TextDecoder().decode(body))

/**
 * The part of a result that its receipt covers: all but `_meta`, as the text of RFC 8785; `undefined` for a result without such a
 * text. The status is that of HTTP for the same outcome.
 */
export const sold = ({ _meta, ...result }: CallToolResult, ending: Ending): SignedResponse.SoldResponse | undefined => {
  const text = CanonicalText.of(JSON.parse(JSON.stringify(result)))
  return text === undefined
    ? undefined
    : { status: statusOf[ending], body: new TextEncoder().encode(text), encoding: undefined }
}

/** A failure as a text result, as the SDK makes one of an error that a tool throws. */
export const failure = (error: unknown): CallToolResult => ({
  isError: true,
  content: [{ type: "text", text: error instanceof Error ? error.message : String(error) }]
})

/** The outcome of a tool's execution. */
export type Ending = "served" | "refused" | "failed"

/** The status of HTTP for the same outcome. */
const statusOf = { served: 200, refused: 400, failed: 500 } as const

/**
 * A result with the receipt of its payment; a tool cannot write one itself. The payment's remaining use is included
 * only after a refusal: no other sign in a result distinguishes it from a failure.
 */
export const withReceipt = (
  result: CallToolResult,
  ending: Ending,
  granted: Pick<Granted, "headers" | "headersFor" | "settlement" | "settlementFor">
): CallToolResult => {
  const status = statusOf[ending]
  const { ifRefused, ...settlement } = granted.settlementFor?.(status, () => undefined) ?? granted.settlement
  const headers = headersOf(granted, status)
  const receipt = ending === "refused" && ifRefused !== undefined ? { ...settlement, ifRefused } : settlement
  const isProduct = ending === "served" && result.isError === true
  const { _meta } = metaFrom(headers, MppMeta.receiptKey)
  const meta = MetaSeller.receiptMeta(receipt, isProduct, headers)
  return { ...result, _meta: { ...result._meta, ..._meta, ...meta } }
}

/**
 * The result as the SDK sends it, if it does: it fills what is missing, drops what MCP does not know, and rejects what is no
 * result, or violates the tool's output schema. Throws for such a one, and for one that JSON cannot write: later, the
 * execution would have been reported as served, and the receipt would be lost.
 */
export const checked = async (given: unknown, schema: AnySchema | undefined): Promise<CallToolResult> => {
  const read = CallToolResultSchema.safeParse(given)
  if (!read.success) {
    const [{ message, path } = { message: "", path: [] }] = read.error.issues
    throw new Error(`the tool's result is not one of MCP at ${path.join(".") || "its top"}: ${message}`)
  }
  const result = read.data
  if (schema !== undefined && result.isError !== true) await matched(result, schema)
  try {
    JSON.stringify(result)
  } catch (cause) {
    throw new Error("the tool returned a result that JSON cannot write, such as one with a BigInt or a circle", {
      cause
    })
  }
  return result
}

const matched = async ({ structuredContent }: CallToolResult, schema: AnySchema): Promise<void> => {
  if (structuredContent === undefined)
    throw new Error("the tool has an output schema and returned no structured content")
  const parsed = await safeParseAsync(normalizeObjectSchema(schema) ?? schema, structuredContent)
  if (parsed.success) return
  throw new Error(`the tool's structured content violates its output schema: ${getParseErrorMessage(parsed.error)}`)
}
