/**
 * The events that the gate adds to a metered stream of server-sent events: the voucher that it waits for, and at its end what was
 * charged. Names and fields are those of the session drafts of the Machine Payments Protocol.
 */
import * as DateTime from "effect/DateTime"

import * as AsciiJson from "../../wire/http/AsciiJson.ts"
import type { MeterReceipt, NeededVoucher } from "./StreamMeter.ts"

/** A comment, which keeps proxies from closing a quiet stream, and its interval in milliseconds. */
export const comment = ":\n\n"
export const commentMillis = 15_000

const event = (name: string, data: EventData): string => `event: ${name}\ndata: ${AsciiJson.encode(data)}\n\n`

/** The data of an event. */
export type EventData = Readonly<Record<string, string>>

/** The data that ask for a voucher. */
export const needData = ({ acceptedCumulative, channelId, deposit, requiredCumulative }: NeededVoucher): EventData => ({
  channelId,
  requiredCumulative: `${requiredCumulative}`,
  acceptedCumulative: `${acceptedCumulative}`,
  deposit: `${deposit}`
})

/** Asks for a voucher. */
export const need = (voucher: NeededVoucher): string => event("payment-need-voucher", needData(voucher))

/** The data that say what was charged. */
export const receiptData = ({ at, channelId, charged, end, owed, units }: MeterReceipt): EventData => ({
  method: "batch-settlement",
  reference: channelId,
  status: "success",
  timestamp: DateTime.formatIso(DateTime.makeUnsafe(at)),
  chargedAmount: `${charged}`,
  chargedCumulativeAmount: `${owed}`,
  units: `${units}`,
  ...(end !== undefined && { end })
})

/** Says what was charged. */
export const receipt = (ended: MeterReceipt): string => event("payment-receipt", receiptData(ended))

/** Whether a body of this `Content-Encoding` leaves as it was made. */
export const isPlain = (encoding: string | undefined): boolean =>
  encoding === undefined || encoding.toLowerCase() === "identity"

/** Whether a response is a stream of events that may be added to. */
export const areIn = (type: string | undefined, encoding: string | undefined): boolean =>
  /^text\/event-stream\s*(?:;|$)/i.test(type ?? "") && isPlain(encoding)

/** Follows the bytes of a stream of events, to know whether an event is complete. */
export class EventPlace {
  #last = ""

  /** Takes the next bytes. */
  pass(chunk: unknown): void {
    const end = typeof chunk === "string" ? chunk.slice(-4) : chunk instanceof Uint8Array ? tailOf(chunk) : ""
    if (end !== "") this.#last = (this.#last + end).slice(-4)
  }

  /** The text that completes the present event: an event of the gate never stands inside another one. */
  get completion(): string {
    return this.#last === "" || /(?:\n\n|\r\r|\r\n\r\n)$/.test(this.#last) ? "" : "\n\n"
  }
}

const tailOf = (bytes: Uint8Array): string => String.fromCharCode(...bytes.subarray(-4))
