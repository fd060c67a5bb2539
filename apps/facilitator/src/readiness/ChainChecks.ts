/**
 * Checks of each chain beside its signers: its time agrees with this machine's, and its node still has the block in which the
 * last payment became final. A node on another branch, or a chain that was restarted under the same id, responds with every request
 * and settles nothing.
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
    ...schemes.filter(({ time }) => time !== undefined).map((scheme) => clock(scheme)),
    ...schemes.map((scheme) => branch(scheme, lastFinal(scheme.network)))
  ]
}

/** The name of a check: several schemes may be on one network, and each has checks of its own. */
export const nameOf = (what: string, scheme: string, subject: string): string =>
  scheme === "exact" ? `${what} ${subject}` : `${what} ${subject} ${scheme}`

const clock = (scheme: SchemeFacilitator): ReadinessCheck => ({
  name: nameOf("clock", scheme.scheme.name, scheme.network),
  run: Effect.map(ChainClock.compare(scheme), (found): Finding => {
    if (found === undefined || !found.isApart) return fine
    return {
      troubles: [
        {
          kind: "clock_apart",
          problem: ChainClock.toText(scheme.network, found),
          mend: "set this machine's clock by NTP; if it is right, the node is behind or the chain stands still: set another node",
          stops: { network: scheme.network }
        }
      ]
    }
  }),
  failed: (why) => ({
    troubles: [
      {
        kind: "clock_unseen",
        problem: `the time of ${scheme.network} is not known: ${why}`,
        mend: "check the network's node and the connection to it, or set another node"
      }
    ]
  })
})

const branch = (scheme: SchemeFacilitator, lastFinal: LastFinal.Find): ReadinessCheck => ({
  name: nameOf("branch", scheme.scheme.name, scheme.network),
  run: Effect.gen(function* () {
    const last = yield* lastFinal
    if (last === undefined || (yield* scheme.isCanonical(last.block))) return fine
    const { block, paymentId } = last
    const found: Finding = {
      troubles: [
        {
          kind: "other_branch",
          problem: `the node of ${scheme.network} shows another block ${block.number} than ${block.hash}, in which the payment ${paymentId} became final: it follows another branch, or another chain`,
          mend: "set a node of the chain of these records; if a local chain was restarted, start with new records; if the chain itself was reorganised below its final blocks, keep these records for the debts in them, set a higher finality, and continue with new records",
          stops: { network: scheme.network }
        }
      ]
    }
    return found
  }),
  failed: (why) => ({
    troubles: [
      {
        kind: "branch_unseen",
        problem: `the block of the last final payment on ${scheme.network} cannot be read: ${why}`,
        mend: "check the network's node, which may be behind or on another chain, and the payment records"
      }
    ]
  })
})
