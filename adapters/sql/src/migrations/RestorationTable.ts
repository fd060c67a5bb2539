/**
 * - `restoration` (PostgreSQL): the highest serial that came out of another cluster by a dump. Nothing reads it any more, as
 *   nothing reads `payment.born`: pages do not depend on the numbers of transactions (`PageHorizon`).
 */
import { type Migration, table } from "../Migration.ts"

/**
 * Schema 4.
 *
 * @category constants
 */
export const restorationTable: Migration = {
  name: "restoration",
  serves: 1,
  changes: (dialect) => (dialect === "pg" ? [table("restoration", { settled: "BIGINT NOT NULL" })] : [])
}
