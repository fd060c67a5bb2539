/**
 * A call of a priced tool: asks the gate, and translates its decision into what MCP does.
 */
import { ErrorCode, type CallToolResult } from "@modelcontextprotocol/sdk/types.js"
import type { SettleAfter, Granted, PricedRoute, Seller, Settlement } from "@pontage/core"

import * as ToolCall from "./ToolCall.ts"
import * as ToolResult from "./ToolResult.ts"

const settlements = new WeakMap<object, Settlement.Settlement>()

/**
 * The receipt of the payment that opened a call, by what the SDK hands to the tool; `undefined` where nothing was paid
 * (yet: with `settle: "after-handler"` it is there only after the tool has run).
 */
export const settlementOf = (extra: object): Settlement.Settlement | undefined => settlements.get(extra)

/** Runs the tool when the call may, and answers it otherwise. */
export const serve = async (
  seller: Seller.Seller,
  route: PricedRoute,
  call: ToolCall.ToolCall
): Promise<CallToolResult> => {
  const request = await ToolCall.toRequest(call)
  if (request === undefined) return ToolResult.failure(unbindable(call))
  const decision = await seller.decide(route, request)
  switch (decision._tag) {
    case "Free":
      return call.run()
    case "Refused":
      return ToolResult.refusal(decision.answer)
    case "Granted":
      return serveGranted(seller, route, decision, call)
    case "SettleAfter":
      return serveSettleAfter(seller, route, decision, call)
  }
}

const unbindable = ({ name }: ToolCall.ToolCall): string =>
  `${name} was not run and nothing was charged: its arguments are nested so deep that no payment can be bound to them; send them flatter`

/** The caller has cancelled, or is gone: nobody would get the result. */
const isGone = ({ extra }: ToolCall.ToolCall): boolean => extra.signal.aborted

const unheard = ToolResult.failure("the call was cancelled")

const serveGranted = async (
  seller: Seller.Seller,
  route: PricedRoute,
  granted: Granted,
  call: ToolCall.ToolCall
): Promise<CallToolResult> => {
  if (isGone(call)) {
    void seller.run(granted.finish("notRun"))
    return unheard
  }
  settlements.set(call.extra, granted.settlement)
  const { asks, outcome, result } = await runOf(call, route)
  void seller.run(granted.finish(isGone(call) ? "failed" : outcome))
  if (asks !== undefined) throw asks
  return ToolResult.withReceipt(result, outcome, granted.settlement)
}

const serveSettleAfter = async (
  seller: Seller.Seller,
  route: PricedRoute,
  settleAfter: SettleAfter,
  call: ToolCall.ToolCall
): Promise<CallToolResult> => {
  const abandon = (outcome: "failed" | "notRun") => void seller.run(settleAfter.abandon(outcome))
  if (isGone(call)) {
    abandon("notRun")
    return unheard
  }
  const { asks, outcome, result } = await runOf(call, route)
  if (outcome === "failed" || isGone(call)) {
    abandon("failed")
    if (asks !== undefined) throw asks
    return result
  }
  const completed = await seller.run(settleAfter.complete(outcome === "refused" ? 400 : 200))
  switch (completed._tag) {
    case "Uncharged":
      return result
    case "Refused":
      return ToolResult.refusal(completed.answer)
    case "Granted":
      settlements.set(call.extra, completed.settlement)
      void seller.run(completed.finish(isGone(call) ? "failed" : outcome))
      return ToolResult.withReceipt(result, outcome, completed.settlement)
  }
}

/** How a run has ended. */
interface Run {
  readonly result: CallToolResult
  /**
   * What a tool answers with `isError` is meant for its caller, who may call again with other arguments: it was refused. What
   * it throws may be either; a payment that is good for other arguments is good for the same ones too. On a route that
   * charges for what it refuses, an answer is the product and an error is not.
   */
  readonly outcome: ToolResult.Ending
  /** The error by which a tool asks its caller to open a page; the SDK hands it on as it is. */
  readonly asks: Error | undefined
}

/** What a tool throws becomes the result that the SDK would make of it, so that it can carry the receipt. */
const runOf = async (call: ToolCall.ToolCall, { refused }: PricedRoute): Promise<Run> => {
  try {
    const result = await call.run()
    const refusal = refused === "charged" ? "served" : "refused"
    return { result, outcome: result.isError === true ? refusal : "served", asks: undefined }
  } catch (error) {
    const asks = asksForPage(error) ? error : undefined
    const outcome = asks === undefined && refused === "reusable" ? "refused" : "failed"
    return { result: ToolResult.failure(error), outcome, asks }
  }
}

const asksForPage = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && error.code === ErrorCode.UrlElicitationRequired
