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

/** The gate's answer to a call that is not served: the payment request, as an object and as the same text. */
export const refusal = ({ body }: Answer): CallToolResult => ({
  isError: true,
  structuredContent: JSON.parse(body),
  content: [{ type: "text", text: body }]
})

/** A failure in words, as the SDK makes one of an error that a tool throws. */
export const failure = (error: unknown): CallToolResult => ({
  isError: true,
  content: [{ type: "text", text: error instanceof Error ? error.message : String(error) }]
})

/** How the run of a tool has ended. */
export type Ending = "served" | "refused" | "failed"

/**
 * A result with the receipt of its payment; a tool cannot write one itself. What the payment is still good for is told only
 * where the run was refused: nothing else about a result tells it from one that failed.
 */
export const withReceipt = (
  result: CallToolResult,
  ending: Ending,
  { ifRefused, ...settlement }: Settlement.Settlement
): CallToolResult => {
  const receipt = ending === "refused" && ifRefused !== undefined ? { ...settlement, ifRefused } : settlement
  const isProduct = ending === "served" && result.isError === true
  return { ...result, _meta: { ...result._meta, ...MetaSeller.receiptMeta(receipt, isProduct) } }
}

/**
 * The result if it keeps the tool's output schema. Throws what the SDK would make a failure of later, when its run would have
 * been reported as served and the receipt would be lost.
 */
export const checked = async (result: CallToolResult, schema: AnySchema | undefined): Promise<CallToolResult> => {
  if (schema === undefined || result.isError === true) return result
  const { structuredContent } = result
  if (structuredContent === undefined) throw new Error("the tool has an output schema and gave no structured content")
  const parsed = await safeParseAsync(normalizeObjectSchema(schema) ?? schema, structuredContent)
  if (parsed.success) return result
  throw new Error(`the tool's structured content is not of its output schema: ${getParseErrorMessage(parsed.error)}`)
}
