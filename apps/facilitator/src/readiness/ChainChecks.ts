/**
 * What `/ready` looks at of each chain beside its signers: whether its time is ours, and whether its node still shows the block in
 * which the last payment there became final. A node of another branch, or a chain that was begun anew under the same number,
 * answers everything and settles nothing.
 */
import { ChainClock, type PaymentStore, type SchemeFacilitator } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as LastFinal from "./LastFinal.ts"
import { type Finding, fine, type ReadinessCheck } from "./ReadinessCheck.ts"

/** The checks of the chains. */
export const all = (
  schemes: ReadonlyArray<SchemeFacilitator>,
  store: PaymentStore.PaymentStore["Service"]
): ReadonlyArray<ReadinessCheck> => {
  const lastFinal = LastFinal.make(store)
  return [
    ...schemes.filter(({ time }) => time !== undefined).map((half) => clock(half)),
    ...schemes.map((half) => branch(half, lastFinal(half.network)))
  ]
}

const clock = (half: SchemeFacilitator): ReadinessCheck => ({
  name: `clock ${half.network}`,
  look: Effect.map(ChainClock.compare(half), (found): Finding => {
    if (found === undefined || !found.isApart) return fine
    return {
      troubles: [
        {
          kind: "clock_apart",
          problem: ChainClock.toText(half.network, found),
          mend: "set this machine's clock by NTP; if it is right, the node is behind or the chain stands still: name another node",
          stops: { network: half.network }
        }
      ]
    }
  }),
  unseen: (why) => ({
    troubles: [
      {
        kind: "clock_unseen",
        problem: `the time of ${half.network} cannot be asked: ${why}`,
        mend: "look at the network's node and the way to it, or name another node"
      }
    ]
  })
})

const branch = (half: SchemeFacilitator, lastFinal: LastFinal.Find): ReadinessCheck => ({
  name: `branch ${half.network}`,
  look: Effect.gen(function* () {
    const last = yield* lastFinal
    if (last === undefined || (yield* half.isCanonical(last.block))) return fine
    const { block, paymentId } = last
    const found: Finding = {
      troubles: [
        {
          kind: "other_branch",
          problem: `the node of ${half.network} shows another block ${block.number} than ${block.hash}, in which the payment ${paymentId} became final: it follows another branch, or is of another chain`,
          mend: "name a node of the chain that these records are of; where a local chain was begun anew, begin with new records; where the chain itself was reorganised below its final blocks, keep these records for what is owed, set a higher finality, and go on with new ones",
          stops: { network: half.network }
        }
      ]
    }
    return found
  }),
  unseen: (why) => ({
    troubles: [
      {
        kind: "branch_unseen",
        problem: `the block of the last final payment on ${half.network} cannot be looked at: ${why}`,
        mend: "look at the network's node, which may be behind or of another chain, and at the payment records"
      }
    ]
  })
})
