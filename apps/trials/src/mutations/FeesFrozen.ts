/**
 * The first fees that were ever seen are offered for ever, and bytes that a node does not take are believed to be on their
 * way: a rise of the fees stops the lane.
 */
import type { Fees, SchemeFacilitator } from "@pontage/core"
import * as Effect from "effect/Effect"

export const feesFrozen = {
  half: (half: SchemeFacilitator): SchemeFacilitator => {
    let first: Fees | undefined
    return {
      ...half,
      chainHead: Effect.map(half.chainHead, (chainHead) => {
        first ??= chainHead.fees
        return first === undefined ? chainHead : { ...chainHead, fees: first }
      }),
      submit: (prepared) =>
        Effect.map(half.submit(prepared), (submission) =>
          submission._tag === "Outdated" || submission._tag === "Refused" ? { _tag: "Accepted" } : submission
        )
    }
  }
}
