/**
 * Schema 4's column: the reason a payment left its lane, for decisions; the note beside it is for people. Rows of
 * programs of the previous release have none.
 */
import { column, type Migration } from "../schema/Migration.ts"

/** Schema 4. */
export const laneExits: Migration = {
  name: "lane_exits",
  serves: 1,
  changes: () => [column("event", "lane_exit", "TEXT")]
}
