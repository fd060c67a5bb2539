/**
 * Schema 2.
 *
 * - `probe`: what is written to see that something can be written; nothing is ever read from it.
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
