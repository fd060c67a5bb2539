/**
 * Results of tools, as the gate's answers and receipts make them.
 */
import type { AnySchema } from "@modelcontextprotocol/sdk/server/zod-compat.js"
import {
  getParseErrorMessage,
  normalizeObjectSchema,
  safeParseAsync
} from "@modelcontextprotocol/sdk/server/zod-compat.js"
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js"
import { type Answer, MetaSeller, type Settlement } from "@pontage/core"

/**
 * The gate's answer to a call that is not served: the payment request, as an object and as the same text.
 *
 * @category conversions
 */
export const refusal = ({ body }: Answer): CallToolResult => ({
  isError: true,
  structuredContent: JSON.parse(body),
  content: [{ type: "text", text: body }]
})

/**
 * A failure in words, as the SDK makes one of an error that a tool throws.
 *
 * @category constructors
 */
export const failure = (error: unknown): CallToolResult => ({
  isError: true,
  content: [{ type: "text", text: error instanceof Error ? error.message : String(error) }]
})

/**
 * A result with the receipt of its payment; a tool cannot write one itself.
 *
 * @category combinators
 */
export const withReceipt = (result: CallToolResult, settlement: Settlement.Settlement): CallToolResult => ({
  ...result,
  _meta: { ...result._meta, ...MetaSeller.receiptMeta(settlement) }
})

/**
 * The result if it keeps the tool's output schema, and otherwise the failure that the SDK would make of it later, when its
 * run would have been reported as served and the receipt would be lost.
 *
 * @category combinators
 */
export const checked = async (result: CallToolResult, schema: AnySchema | undefined): Promise<CallToolResult> => {
  if (schema === undefined || result.isError === true) return result
  const { structuredContent } = result
  if (structuredContent === undefined) return failure("the tool has an output schema and gave no structured content")
  const parsed = await safeParseAsync(normalizeObjectSchema(schema) ?? schema, structuredContent)
  if (parsed.success) return result
  return failure(`the tool's structured content is not of its output schema: ${getParseErrorMessage(parsed.error)}`)
}
