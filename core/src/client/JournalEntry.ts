/**
 * One purchase in the payer's journal: the reserved amount, the signed authorization, and the known outcome. Plain
 * data, so that a journal can be written to a disk and read back.
 */
import * as Schema from "effect/Schema"

import { Settlement } from "../protocol/Settlement.ts"
import { PurchaseReceipt } from "../wire/pontage/PurchaseReceipt.ts"

/**
 * State of a purchase. `reserved`: its amount is set aside, nothing was sent. `pending`: the authorization was or may
 * have been sent, the outcome is unknown. `refused`: the server refused, but the authorization could still be settled.
 * `owed`: paid, and the response was a failure (500 or above), or a refusal that leaves the payment good (`reuse`).
 * `settled`: over. `released`: proven to cost nothing.
 */
export const journalStates = ["reserved", "pending", "refused", "owed", "settled", "released"] as const

/** One of these. */
export const JournalState = /* @__PURE__ */ Schema.Literals(journalStates)

export type JournalState = typeof JournalState.Type

/** A state is replaced only by one of its own rank or above: certain knowledge is not replaced by a guess. */
const rank: Readonly<Record<JournalState, number>> = {
  reserved: 0,
  pending: 1,
  refused: 1,
  released: 2,
  owed: 3,
  settled: 4
}

/**
 * Whether an entry in the state `known` may be replaced by its own later line in the state `next`. Several tabs write
 * about one payment, and their lines may arrive in any order: a refusal that one of them received never hides that
 * another was served, and money that has moved counts even after it was given up.
 */
export const mayFollow = (known: JournalState, next: JournalState): boolean => rank[next] >= rank[known]

/** A purchase. Times are Unix milliseconds, except `validBefore`, which is in Unix seconds as signed. */
export const JournalEntry = /* @__PURE__ */ Schema.Struct({
  id: Schema.String,
  state: JournalState,
  /** The logical request: a digest of method, URL and body. */
  request: Schema.String,
  method: Schema.String,
  /** The only URL that the authorization is sent to, also when it is repeated. */
  url: Schema.String,
  host: Schema.String,
  network: Schema.String,
  asset: Schema.String,
  payTo: Schema.String,
  /** In the smallest unit of the asset. */
  amount: Schema.String,
  /** The amounts that count against the limits (see `Spending`); `digits` as decimal text. */
  spendings: /* @__PURE__ */ Schema.Array(
    /* @__PURE__ */ Schema.Struct({ unit: Schema.String, digits: Schema.String, scale: Schema.Int })
  ),
  at: Schema.Int,
  validBefore: Schema.Int,
  paymentId: /* @__PURE__ */ Schema.optionalKey(Schema.String),
  payer: /* @__PURE__ */ Schema.optionalKey(Schema.String),
  /** The payment headers, verbatim: a repetition sends the same. Dropped once the purchase is over. */
  headers: /* @__PURE__ */ Schema.optionalKey(/* @__PURE__ */ Schema.Record(Schema.String, Schema.String)),
  receipt: /* @__PURE__ */ Schema.optionalKey(Settlement),
  /** The server's signed receipt; its fields are those of this purchase, and its signature is not verified. */
  signedReceipt: /* @__PURE__ */ Schema.optionalKey(PurchaseReceipt),
  /** The voucher of a payment through a channel: the channel's id, and the most that the voucher allows to claim. */
  draw: /* @__PURE__ */ Schema.optionalKey(
    /* @__PURE__ */ Schema.Struct({ channel: Schema.String, ceiling: Schema.String })
  ),
  /** Unix milliseconds of the last voucher of a metered stream, from which its spendings count for a day. Absent before its second one. */
  drawnAt: /* @__PURE__ */ Schema.optionalKey(Schema.Int),
  /**
   * The amount of a top-up that arrives on the other network, in the smallest unit. `amount` leaves the entry's own network, and has the
   * fee too, which alone is in `spendings`: the rest stays the payer's.
   */
  topUp: /* @__PURE__ */ Schema.optionalKey(Schema.String),
  /** Unix milliseconds until which the server owes the response of a failed execution, or of one that broke off. */
  owedUntil: /* @__PURE__ */ Schema.optionalKey(Schema.Int),
  /**
   * While the response is owed: the number of other requests that it also pays for, namely those whose offers carry
   * this route token.
   */
  reuse: /* @__PURE__ */ Schema.optionalKey(
    /* @__PURE__ */ Schema.Struct({ routeToken: Schema.String, runs: Schema.Int })
  ),
  /** Number of times that the body of its response has broken off, each time after it was `settled`: then the response is owed again. */
  cut: /* @__PURE__ */ Schema.optionalKey(Schema.Int)
})

export type JournalEntry = typeof JournalEntry.Type

/**
 * An entry after a later line: a less certain line changes nothing, and an entry that is over is kept without its
 * headers, which are not sent again. A response that broke off once more is later than every line before.
 */
export const after = (known: JournalEntry | undefined, next: JournalEntry): JournalEntry => {
  const cuts = (next.cut ?? 0) - (known?.cut ?? 0)
  if (known !== undefined && (cuts < 0 || (cuts === 0 && !mayFollow(known.state, next.state)))) return known
  if (next.headers === undefined || (next.state !== "settled" && next.state !== "released")) return next
  const { headers: _, ...rest } = next
  return rest
}
