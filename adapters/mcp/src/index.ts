/**
 * Sells the tools of an MCP server per call, and pays for them.
 */
export { settlementOf } from "./PaidTool.ts"
export type { ToolExtra } from "./ToolCall.ts"
export {
  sellTools,
  type PaidTools,
  type ToolConfig,
  type ToolSchema,
  type ToolShop,
  type ToolTerms
} from "./ToolShop.ts"
