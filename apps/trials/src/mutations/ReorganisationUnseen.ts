/**
 * Whatever was in a block once is taken to be there for ever: a settlement that a reorganisation has taken back stays
 * settled in the records.
 */
import type { SchemeFacilitator } from "@pontage/core"
import * as Effect from "effect/Effect"

/**
 * @category mutations
 */
export const reorganisationUnseen = {
  half: (half: SchemeFacilitator): SchemeFacilitator => ({ ...half, isCanonical: () => Effect.succeed(true) })
}
