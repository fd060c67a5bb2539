/**
 * One purchase as the payer's journal holds it: what was reserved, what was signed for it, and what is known of its
 * outcome. Plain data, so that a journal can be written to a disk and read back.
 */
import * as Schema from "effect/Schema"

import { Settlement } from "../protocol/Settlement.ts"

/**
 * Where a purchase stands. `reserved`: its amount is set aside, nothing was sent. `pending`: the authorization was or may
 * have been sent, the outcome is not known. `refused`: the server said no, but what was signed could still be settled.
 * `owed`: paid, and the answer was a failure (500 or above), or a refusal that leaves the payment good (`reuse`). `settled`: over. `released`: proven that it costs nothing.
 */
export const journalStates = ["reserved", "pending", "refused", "owed", "settled", "released"] as const

/** One of these. */
export const JournalState = /* @__PURE__ */ Schema.Literals(journalStates)

export type JournalState = typeof JournalState.Type

/** A state gives way to one of its own rank or above: what is known for certain is not forgotten for what is guessed. */
const rank: Readonly<Record<JournalState, number>> = {
  reserved: 0,
  pending: 1,
  refused: 1,
  released: 2,
  owed: 3,
  settled: 4
}

/**
 * Whether an entry in the state `known` may be replaced by its own later line in the state `next`. Several tabs write about
 * one payment, and their lines may arrive in any order: a refusal that one of them heard never hides that another was served,
 * and money that has moved counts even where it was given up.
 */
export const mayFollow = (known: JournalState, next: JournalState): boolean => rank[next] >= rank[known]

/** A purchase. Times are Unix milliseconds but for `validBefore`, which is Unix seconds as it was signed. */
export const JournalEntry = /* @__PURE__ */ Schema.Struct({
  id: Schema.String,
  state: JournalState,
  /** The logical request: a digest of method, URL and body. */
  request: Schema.String,
  method: Schema.String,
  /** Where the authorization is sent, again and again, and nowhere else. */
  url: Schema.String,
  host: Schema.String,
  network: Schema.String,
  asset: Schema.String,
  payTo: Schema.String,
  /** In the smallest unit of the asset. */
  amount: Schema.String,
  /** What it counts as (see `Spending`); `digits` as decimal text. */
  spendings: /* @__PURE__ */ Schema.Array(
    /* @__PURE__ */ Schema.Struct({ unit: Schema.String, digits: Schema.String, scale: Schema.Int })
  ),
  at: Schema.Int,
  validBefore: Schema.Int,
  paymentId: /* @__PURE__ */ Schema.optionalKey(Schema.String),
  payer: /* @__PURE__ */ Schema.optionalKey(Schema.String),
  /** Sent with the request to pay for it, to the letter: a repetition sends the same. Dropped once the purchase is over. */
  headers: /* @__PURE__ */ Schema.optionalKey(/* @__PURE__ */ Schema.Record(Schema.String, Schema.String)),
  receipt: /* @__PURE__ */ Schema.optionalKey(Settlement),
  /** How long the server owes the answer of a failed run. */
  owedUntil: /* @__PURE__ */ Schema.optionalKey(Schema.Int),
  /** While it is owed: so often it also pays for other requests, those whose offers carry this route's token. */
  reuse: /* @__PURE__ */ Schema.optionalKey(
    /* @__PURE__ */ Schema.Struct({ routeToken: Schema.String, runs: Schema.Int })
  )
})

export type JournalEntry = typeof JournalEntry.Type

/**
 * An entry after a later line of it: what is less certain than what is known changes nothing, and what is over is kept without
 * its headers, which nobody sends again.
 */
export const after = (known: JournalEntry | undefined, next: JournalEntry): JournalEntry => {
  if (known !== undefined && !mayFollow(known.state, next.state)) return known
  if (next.headers === undefined || (next.state !== "settled" && next.state !== "released")) return next
  const { headers: _, ...rest } = next
  return rest
}
