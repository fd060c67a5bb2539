/**
 * Sells the tools of an MCP server per call, and pays for them.
 */
export type { CallParameters, CallResult } from "./OutgoingCall.ts"
export { MeterEnded, meterOf } from "./MeteredTool.ts"
export { settlementOf } from "./PaidTool.ts"
export { payTools, type PayingTools, type PayingToolsOptions, receiptOf } from "./PayingTools.ts"
export type { ToolExtra } from "./ToolCall.ts"
export {
  sellTools,
  type PaidTools,
  type ToolConfig,
  type ToolSchema,
  type ToolShop,
  type ToolTerms
} from "./ToolShop.ts"
