/** Runs a call of a priced tool: calls the gate, and translates its decision for MCP. */
import { ErrorCode, type CallToolResult } from "@modelcontextprotocol/sdk/types.js"
import {
  type SettleAfter,
  type Granted,
  type PricedRoute,
  type Seller,
  type Settlement,
  SignedResponse
} from "@pontage/core"

import * as MeteredTool from "./MeteredTool.ts"
import * as ToolCall from "./ToolCall.ts"
import * as ToolResult from "./ToolResult.ts"

const settlements = new WeakMap<object, Settlement.Settlement>()

/**
 * The receipt of the payment that opened a call, by the SDK's `extra` of the tool; `undefined` if nothing was paid
 * (with `settle: "after-handler"` it exists only after the tool has run).
 */
export const settlementOf = (extra: object): Settlement.Settlement | undefined => settlements.get(extra)

/** Runs the tool if the call may pass, and responds otherwise. */
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
      return ToolResult.refusal(decision.response)
    case "Repeated":
      return ToolResult.repeated(decision.response)
    case "Granted":
      return serveGranted(seller, route, decision, call)
    case "SettleAfter":
      return serveSettleAfter(seller, route, decision, call)
  }
}

const unbindable = ({ name }: ToolCall.ToolCall): string =>
  `${name} was not run and nothing was charged: its arguments are nested too deep for a payment to be bound to them; send flatter arguments`

/** Whether the caller has cancelled or disconnected, so that the result would be lost. */
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
  const { meter } = granted
  if (meter !== undefined) MeteredTool.begin(seller, granted, meter, call.extra)
  const run = await runOf(call, route)
  if (meter === undefined) return ended(seller, granted, call, run)
  const result = await MeteredTool.ended(granted, meter, run.result, run.outcome)
  if (run.asks !== undefined) throw run.asks
  return result
}

/**
 * The result of a granted call with its receipt. A served result that may come again is kept, whether or not its caller
 * is still there. A result that cannot be written after all ends the execution too, which nothing else would end.
 */
const ended = async (
  seller: Seller.Seller,
  granted: Granted,
  call: ToolCall.ToolCall,
  { asks, outcome, result }: Run
): Promise<CallToolResult> => {
  let end: ToolResult.Ending = "failed"
  try {
    const receipted = ToolResult.withReceipt(result, outcome, await signed(seller, granted, result, outcome))
    if (outcome === "served" && granted.sink !== undefined) {
      await seller.run(granted.sink.keep(ToolResult.kept(receipted)))
    }
    if (!isGone(call) || granted.endsAtHead !== undefined) end = outcome
    if (asks !== undefined) throw asks
    return receipted
  } finally {
    void seller.run(granted.finish(end))
  }
}

/** The headers of a granted call; the receipt covers the result where the route says so. */
const signed = async (
  seller: Seller.Seller,
  granted: Granted,
  result: CallToolResult,
  outcome: ToolResult.Ending
): Promise<Granted> => {
  const sold = granted.receipt && ToolResult.sold(result, outcome)
  if (granted.receipt === undefined || sold === undefined) return granted
  return SignedResponse.withReceipt(granted, await seller.run(granted.receipt(sold)))
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
      return ToolResult.refusal(completed.response)
    case "Granted":
      settlements.set(call.extra, completed.settlement)
      return ended(seller, completed, call, { asks: undefined, outcome, result })
  }
}

/** The end of an execution. */
interface Run {
  readonly result: CallToolResult
  /**
   * The outcome. A result with `isError` is meant for its caller, who may call again with other arguments: the call was
   * refused. A thrown error may be a refusal or a failure; a payment that is good for other arguments is good for the
   * same ones too. On a route that charges for refusals, a result is the product and a thrown error is not.
   */
  readonly outcome: ToolResult.Ending
  /** The error with which a tool asks its caller to open a page; the SDK passes it on unchanged. */
  readonly asks: Error | undefined
}

/** Runs the tool; a thrown error becomes the result that the SDK would make of it, so that it can carry the receipt. */
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
