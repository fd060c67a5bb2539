/**
 * A database's account of its schema is believed without a look at its tables.
 */
import type { SourceMutation } from "../attacks/SourceMutation.ts"

const sources: SourceMutation = [
  { module: "adapters/sql/src/schema/SchemaUpgrade", piece: "unlike.length === 0", instead: "unlike.length >= 0" }
]

export const tablesUnlookedAt = {
  sources
}
