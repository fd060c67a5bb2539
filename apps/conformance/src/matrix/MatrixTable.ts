import * as TextTable from "../TextTable.ts"
/**
 * The matrix for people: one table for each facilitator, shops down, buyers across, and below them why some cells cannot
 * work.
 */
import type { Cell, Sight } from "./CellTrial.ts"
import * as Matrix from "./Matrix.ts"
import { buyerNames, buyers, facilitatorNames, facilitators, shopNames, shops } from "./Parties.ts"

/** A cell that was run. */
export interface Result {
  readonly cell: Cell
  readonly sight: Sight
  /** Whether it came out as it should. */
  readonly met: boolean
}

/** The whole text. */
export const toText = (results: ReadonlyArray<Result>): string =>
  [...facilitatorNames.map((name) => tableOf(name, results)), notes(), surprises(results)]
    .filter((part) => part !== "")
    .join("\n\n")

const tableOf = (facilitator: Cell["facilitator"], results: ReadonlyArray<Result>): string => {
  const rows = shopNames.map((shop) => {
    const words = buyerNames.map((buyer) => {
      const found = results.find(
        ({ cell }) => cell.facilitator === facilitator && cell.shop === shop && cell.buyer === buyer
      )
      return found === undefined ? "" : wordOf(found)
    })
    return [shops[shop].title].concat(words)
  })
  const head = ["shop \\ buyer", ...buyerNames.map((name) => buyers[name].title)]
  return `settled by ${facilitators[facilitator].title}\n${TextTable.toText(head, rows)}`
}

const wordOf = ({ cell, met }: Result): string => {
  if (!met) return "WRONG"
  const rule = Matrix.ruleOf(cell)
  return rule === undefined ? "paid" : `- (${Matrix.rules.indexOf(rule) + 1})`
}

const notes = (): string => Matrix.rules.map(({ because }, index) => `(${index + 1}) ${because}`).join("\n")

/** The observations in cells with an unexpected result. */
const surprises = (results: ReadonlyArray<Result>): string =>
  results
    .filter(({ met }) => !met)
    .map(({ cell: { buyer, facilitator, shop }, sight }) => {
      const moved = sight.transfers.map(({ to, value }) => `${value} to ${to}`).join(", ")
      const who = `${buyers[buyer].title} at ${shops[shop].title} with ${facilitators[facilitator].title}`
      const answer = Matrix.answerOf(sight).slice(0, 500)
      return `WRONG: ${who}: ${answer}; ${sight.runs} runs, moved ${moved === "" ? "nothing" : moved}`
    })
    .join("\n")
