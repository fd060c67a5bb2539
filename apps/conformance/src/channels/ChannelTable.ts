/** The channel matrix for people, the published pair's answers beside ours. */
import * as TextTable from "../TextTable.ts"
import { buyers } from "./ChannelBuyers.ts"
import { facilitators } from "./ChannelMarket.ts"
import { shops } from "./ChannelShops.ts"
import { type Result, rounds, rows, ruleOf } from "./ChannelTrial.ts"

const head = [
  "batch-settlement: facilitator",
  "shop",
  "buyer",
  ...rounds.map((together) => `${together} at once`),
  "served",
  "charged",
  "claimed",
  "paid out",
  "payer lost",
  ""
]

/** The table, and below it why some rows cannot work. */
export const toText = (results: ReadonlyArray<Result>): string => {
  const lines = results.map(({ met, row, sight }) => [
    facilitators[row.facilitator],
    shops[row.shop].title,
    buyers[row.buyer].title,
    ...rounds.map((_, round) => sight.answers[round] ?? "-"),
    ...[sight.served, sight.charged, sight.claimed, sight.paidOut, sight.lost].map(String),
    met ? "" : "WRONG"
  ])
  const notes = new Set(rows.flatMap((row) => ruleOf(row) ?? []))
  return [TextTable.toText(head, lines), ...notes].join("\n")
}
