/**
 * - `restoration` (PostgreSQL): the highest serial that came out of another cluster by a dump, whose transactions have nothing
 *   to do with this one's.
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
