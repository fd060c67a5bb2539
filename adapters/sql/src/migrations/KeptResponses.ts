/**
 * Schema 5.
 * - `kept_response`: served responses that come again for their payers, under names that only their shop can make, each until
 *   an instant in Unix milliseconds.
 */
import { index, type Migration, table } from "../schema/Migration.ts"

/** The table of `ResponseStore`. */
export const keptResponses: Migration = {
  name: "kept_responses",
  serves: 1,
  changes: () => [
    table("kept_response", {
      name: "TEXT NOT NULL PRIMARY KEY",
      text: "TEXT NOT NULL",
      kept_until: "BIGINT NOT NULL"
    }),
    index("kept_response_age", "kept_response (kept_until)")
  ]
}
