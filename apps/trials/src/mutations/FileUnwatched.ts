/**
 * Nobody looks whether the file that is written is still the one that its name leads to.
 */
import type { SourceMutation } from "../attacks/SourceMutation.ts"

const sources: SourceMutation = [
  { module: "adapters/sql/src/sqlite/FilePlace", piece: "own === now", instead: "own !== null" }
]

export const fileUnwatched = {
  sources
}
