/**
 * Schema 2.
 * - `probe`: rows written to check that the database accepts writes; they are never read.
 */
import { type Migration, table } from "../schema/Migration.ts"

/** The table of `PaymentStore.probe`. */
export const probeTable: Migration = {
  name: "probe",
  serves: 1,
  changes: (dialect) => [
    table("probe", {
      id: dialect === "pg" ? "BIGINT NOT NULL" : "INTEGER PRIMARY KEY",
      filler: "TEXT NOT NULL"
    })
  ]
}
