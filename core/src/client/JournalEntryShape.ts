/** Reads a line from a browser's journal without a schema, which would cost more than the rest of the journal. */
import * as Amount from "../protocol/Amount.ts"
import * as Shape from "../protocol/Shape.ts"
import { settlement } from "../wire/pontage/ProtocolPayer.ts"
import { purchaseReceipt } from "../wire/pontage/PurchaseReceiptShape.ts"
import type { ChannelEntry, JournalLine, OpenDeposit } from "./ChannelEntry.ts"
import { type JournalEntry, journalStates } from "./JournalEntry.ts"

const maybeText = /* @__PURE__ */ Shape.optional(Shape.text)

const headers = /* @__PURE__ */ Shape.guarded(
  "an object of texts",
  (value): value is Readonly<Record<string, string>> =>
    Shape.isObject(value) && Object.values(value).every((text) => typeof text === "string")
)

/** An entry. */
export const journalEntry = /* @__PURE__ */ Shape.struct<JournalEntry>({
  id: Shape.text,
  state: /* @__PURE__ */ Shape.oneOf(journalStates),
  request: Shape.text,
  method: Shape.text,
  url: Shape.text,
  host: Shape.text,
  network: Shape.text,
  asset: Shape.text,
  payTo: Shape.text,
  amount: Shape.text,
  spendings: /* @__PURE__ */ Shape.list(
    /* @__PURE__ */ Shape.struct<JournalEntry["spendings"][number]>({
      unit: Shape.text,
      digits: Shape.text,
      scale: Shape.int
    })
  ),
  at: Shape.int,
  validBefore: Shape.int,
  paymentId: maybeText,
  payer: maybeText,
  headers: /* @__PURE__ */ Shape.optional(headers),
  receipt: /* @__PURE__ */ Shape.optional(settlement),
  signedReceipt: purchaseReceipt,
  draw: /* @__PURE__ */ Shape.optional(
    /* @__PURE__ */ Shape.struct<NonNullable<JournalEntry["draw"]>>({ channel: Shape.text, ceiling: Shape.text })
  ),
  drawnAt: /* @__PURE__ */ Shape.optional(Shape.int),
  topUp: maybeText,
  owedUntil: /* @__PURE__ */ Shape.optional(Shape.int),
  cut: /* @__PURE__ */ Shape.optional(Shape.int),
  reuse: /* @__PURE__ */ Shape.optional(
    /* @__PURE__ */ Shape.struct<NonNullable<JournalEntry["reuse"]>>({ routeToken: Shape.text, runs: Shape.int })
  )
})

const amount = /* @__PURE__ */ Shape.guarded(
  Amount.expected,
  (value): value is string => typeof value === "string" && Amount.isText(value)
)

/** A channel. */
export const channelEntry = /* @__PURE__ */ Shape.struct<ChannelEntry>({
  kind: /* @__PURE__ */ Shape.oneOf(["channel"]),
  id: Shape.text,
  host: Shape.text,
  network: Shape.text,
  asset: Shape.text,
  payTo: Shape.text,
  terms: Shape.json,
  units: /* @__PURE__ */ Shape.list(
    /* @__PURE__ */ Shape.struct<ChannelEntry["units"][number]>({ unit: Shape.text, scale: Shape.int })
  ),
  balance: amount,
  claimed: amount,
  readAt: /* @__PURE__ */ Shape.optional(Shape.int),
  charged: amount,
  lost: /* @__PURE__ */ Shape.optional(amount),
  unproven: /* @__PURE__ */ Shape.optional(amount),
  signed: amount,
  deposit: /* @__PURE__ */ Shape.optional(
    /* @__PURE__ */ Shape.struct<OpenDeposit>({
      amount,
      onTopOf: amount,
      validBefore: Shape.int,
      isReported: /* @__PURE__ */ Shape.oneOf([true, false]),
      signed: /* @__PURE__ */ Shape.optional(Shape.json)
    })
  ),
  at: Shape.int
})

/** A line: a channel, or a purchase. */
export const journalLine: Shape.Shape<JournalLine> = {
  read: (value) => (Shape.isObject(value) && value["kind"] === "channel" ? channelEntry : journalEntry).read(value)
}
