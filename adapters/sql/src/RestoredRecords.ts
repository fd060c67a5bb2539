/**
 * Records that came out of another PostgreSQL cluster, by a dump: they were made by that cluster's transactions (`born`),
 * which may be ahead of this one's, and would stay out of every page until this cluster has come as far.
 */
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"

/**
 * Notes up to where records cannot be this cluster's own. It looks at all of them, or at the latest: a restored database has
 * no others, and transactions go up with the serials.
 *
 * @category combinators
 */
export const settle = (
  ask: (text: string) => Effect.Effect<ReadonlyArray<unknown>, SqlError>,
  which: "all" | "latest"
): Effect.Effect<void, SqlError> =>
  Effect.flatMap(
    ask(`INSERT INTO restoration (settled)
      SELECT max(serial) FROM (SELECT serial, born FROM payment ${which === "all" ? "" : "ORDER BY serial DESC LIMIT 1000"}) p
      WHERE born >= pg_snapshot_xmax(pg_current_snapshot())
        AND serial > (SELECT coalesce(max(settled), 0) FROM restoration)
      HAVING max(serial) IS NOT NULL
      RETURNING settled`),
    (found) =>
      found.length === 0
        ? Effect.void
        : Effect.logInfo("the payment records were restored from another cluster: all of them are listed at once")
  )
