/** The end of a metered stream, for a person and as a document. */
import type { FollowedStream, JournalEntry, StreamEnd } from "@pontage/core"

import type * as ExitCode from "../ExitCode.ts"
import * as QuoteText from "./QuoteText.ts"
import * as SafeText from "./SafeText.ts"
import type { Screen } from "./Screen.ts"

/** The exit code of a stream that has ended. */
export const exitOf = ({ outcome }: StreamEnd): ExitCode.ExitName => {
  if (outcome === "complete") return "done"
  if (outcome === "limit") return "declined"
  return outcome === "stopped" ? "refused" : "failed"
}

const reasonOf = ({ reason }: StreamEnd): string | undefined =>
  reason instanceof Error ? SafeText.line(reason.message, 500) : undefined

const unitsOf = ({ terms }: FollowedStream, { units }: StreamEnd): string =>
  units === undefined ? "" : ` for ${units} ${SafeText.line(terms.unit)}${units === 1n ? "" : "s"}`

/** Shows the cost of a stream. */
export const show = (
  screen: Screen,
  entry: JournalEntry,
  stream: FollowedStream,
  end: StreamEnd,
  seconds: number
): void => {
  const cost = QuoteText.amountOf(entry, end.charged)
  screen.say(`${screen.bold(`Paid ${cost}`)}${unitsOf(stream, end)} to ${entry.host} in ${seconds.toFixed(1)} s`)
  screen.row("signed", `${QuoteText.amountOf(entry, end.signed)} is the most that the shop can claim for it`)
  const transaction = entry.receipt?.transaction ?? ""
  if (transaction !== "") screen.row("deposit", `${SafeText.line(transaction)} on ${entry.network}`)
  if (end.outcome !== "complete") screen.row("ended", reasonOf(end) ?? end.outcome)
}

/** The stream as a part of a document. */
export const documentOf = (entry: JournalEntry, { terms }: FollowedStream, end: StreamEnd) => {
  const reason = reasonOf(end)
  return {
    outcome: end.outcome,
    unit: terms.unit,
    ...(end.units !== undefined && { units: `${end.units}` }),
    charged: `${end.charged}`,
    signed: `${end.signed}`,
    price: QuoteText.amountOf(entry, end.charged),
    ...(reason !== undefined && { reason })
  }
}
