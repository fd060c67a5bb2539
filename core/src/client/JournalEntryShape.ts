/** Reads a purchase from a browser's journal without a schema, which would cost more than the rest of the journal. */
import * as Shape from "../protocol/Shape.ts"
import { settlement } from "../wire/pontage/ProtocolPayer.ts"
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
  owedUntil: /* @__PURE__ */ Shape.optional(Shape.int),
  reuse: /* @__PURE__ */ Shape.optional(
    /* @__PURE__ */ Shape.struct<NonNullable<JournalEntry["reuse"]>>({ routeToken: Shape.text, runs: Shape.int })
  )
})
