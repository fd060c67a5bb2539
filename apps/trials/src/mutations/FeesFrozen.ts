/**
 * The first fees that were ever seen are offered for ever, and bytes that a node does not take are believed to be on their
 * way: a rise of the fees stops the lane.
 */
import type { Fees, SchemeFacilitator } from "@pontage/core"
import * as Effect from "effect/Effect"

export const feesFrozen = {
  scheme: (scheme: SchemeFacilitator): SchemeFacilitator => {
    let first: Fees | undefined
    return {
      ...scheme,
      chainHead: Effect.map(scheme.chainHead, (chainHead) => {
        first ??= chainHead.fees
        return first === undefined ? chainHead : { ...chainHead, fees: first }
      }),
      submit: (prepared) =>
        Effect.map(scheme.submit(prepared), (submission) =>
          submission._tag === "Outdated" || submission._tag === "Refused" ? { _tag: "Accepted" } : submission
        )
    }
  }
}
