/** The rows of the Machine Payments Protocol for people, the peer's answers beside ours. */
import * as TextTable from "../TextTable.ts"
import { programs } from "./MppPrograms.ts"
import { type Result, shops } from "./MppTrial.ts"

const head = ["Machine Payments Protocol: shop", "buyer", "buys", "again", "other path", "replay", "lost response"]

/** The table. */
export const toText = (results: ReadonlyArray<Result>): string =>
  TextTable.toText(
    [...head, ""],
    results.map(({ met, row: { buyer, shop }, sight: { again, bought, elsewhere, lost, replayed } }) => [
      shops[shop].title,
      programs[buyer].title,
      bought,
      again,
      elsewhere,
      replayed,
      lost,
      met ? "" : "WRONG"
    ])
  )
