/**
 * A metered response that is one message, as a tool's result is: its units are used while it is made. Its buyer is told beside it of the
 * vouchers that it waits for, and the message has the receipt.
 */
import * as MeterEvents from "../http/MeterEvents.ts"
import type { StreamMeter } from "../http/StreamMeter.ts"

/** Amounts and words of a stream's events (`payment-need-voucher`, `payment-receipt`), as texts. */
export type { EventData } from "../http/MeterEvents.ts"

/** Begins before the handler runs. Without `tell` the buyer cannot be told of a voucher, so the response ends with its first window. */
export const begin = (meter: StreamMeter, tell: ((need: MeterEvents.EventData) => void) | undefined): void =>
  meter.begin(200, {
    need: (voucher) => {
      if (tell === undefined) void meter.endUntold()
      else tell(MeterEvents.needData(voucher))
    },
    release: () => undefined,
    end: () => Promise.resolve()
  })

/** Charges what was used, and returns the receipt's data; whether something was charged. */
export const end = async (
  meter: StreamMeter
): Promise<{ readonly receipt: MeterEvents.EventData; readonly isCharged: boolean }> => {
  const receipt = await meter.settle()
  return { receipt: MeterEvents.receiptData(receipt), isCharged: receipt.charged > 0n }
}
