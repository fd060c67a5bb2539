/** Runs a metered tool: its meter, the notification that asks its caller for a voucher, and the receipt in its result. */
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js"
import { type Granted, MeteredMessage, MetaSeller, PaymentMeter, type Seller } from "@pontage/core"

import * as MeteredMeta from "./MeteredMeta.ts"
import type { ToolExtra } from "./ToolCall.ts"
import * as ToolResult from "./ToolResult.ts"

type Meter = NonNullable<Granted["meter"]>

/**
 * The meter of a call, by the SDK's `extra` of the tool; `undefined` if the tool is not metered, or nothing was paid. Units that are
 * charged are paid for, however the call ends.
 */
export const meterOf = (extra: object): PaymentMeter.PaymentMeter | undefined => PaymentMeter.of(extra)

/** Rejects a charge that no voucher covers: the tool may return what it has. */
export const { MeterEnded } = PaymentMeter

/** Begins a metered call. A caller that leaves pays for what was charged until then. */
export const begin = (seller: Seller.Seller, granted: Granted, meter: Meter, extra: ToolExtra): void => {
  PaymentMeter.attach(extra, meter)
  MeteredMessage.begin(meter, tellerOf(granted, meter, extra))
  extra.signal.addEventListener("abort", () => void seller.run(meter.finish("failed")), { once: true })
}

/** Tells the caller of a voucher, if it has said how progress reaches it. */
const tellerOf = ({ settlement }: Granted, meter: Meter, { _meta, sendNotification }: ToolExtra) => {
  const progressToken = _meta?.progressToken
  if (progressToken === undefined) return undefined
  return (need: MeteredMessage.EventData): void => {
    const params = {
      progressToken,
      progress: Number(meter.units),
      message: "The call waits for the next voucher.",
      _meta: { [MeteredMeta.needKey]: need, ...MetaSeller.receiptMeta(settlement) }
    }
    void sendNotification({ method: "notifications/progress", params }).catch(() => undefined)
  }
}

/** The result of a metered call with its receipt. */
export const ended = async (
  granted: Granted,
  meter: Meter,
  result: CallToolResult,
  outcome: ToolResult.Ending
): Promise<CallToolResult> => {
  const { isCharged, receipt } = await MeteredMessage.end(meter)
  const receipted = ToolResult.withReceipt(result, isCharged ? "served" : outcome, granted)
  return { ...receipted, _meta: { ...receipted._meta, [MeteredMeta.receiptKey]: receipt } }
}
