/**
 * The database answers a commit before it is on the disk, and sessions leave that as it is.
 */
import type { SourceMutation } from "../attacks/SourceMutation.ts"

const sources: SourceMutation = [
  {
    module: "adapters/sql/src/postgres/PostgresSessions",
    piece: "WHEN 'off' THEN 'on'",
    instead: "WHEN 'off' THEN 'off'"
  },
  {
    module: "adapters/sql/src/postgres/PostgresSessions",
    piece: 'found[name] === "off"',
    instead: 'found[name] === "never"'
  }
]

export const commitBeforeSync = {
  commitsLater: true as const,
  sources
}
