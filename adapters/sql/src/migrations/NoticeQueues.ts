/**
 * A queue of notices for each caller. Rows of programs of the previous release have no caller; the notices' upkeep
 * fills it in.
 */
import { column, index, type Migration } from "../schema/Migration.ts"

/** Schema 3. */
export const noticeQueues: Migration = {
  name: "notice_queues",
  serves: 1,
  changes: () => [column("notice", "caller", "TEXT"), index("notice_queue", "notice (caller, due) WHERE NOT closed")]
}
