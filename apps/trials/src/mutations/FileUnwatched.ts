/**
 * The store does not check whether the file that it writes is still the one at its path.
 */
import type { SourceMutation } from "../attacks/SourceMutation.ts"

const sources: SourceMutation = [
  { module: "adapters/sql/src/sqlite/FilePlace", piece: "own === now", instead: "own !== null" }
]

export const fileUnwatched = {
  sources
}
