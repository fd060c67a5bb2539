/**
 * The check of the ways to other networks. One that is off is shown with its reason, and the service stays ready: every other payment
 * settles as before.
 */
import { type SchemeFacilitator, type UnquotedNetwork, unquotedSentence } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as ChainChecks from "./ChainChecks.ts"
import type { ReadinessCheck, Trouble } from "./ReadinessCheck.ts"

/** The check of one network's ways; none where no payments go on from it. */
export const make = ({ network, scheme, unquoted }: SchemeFacilitator): ReadonlyArray<ReadinessCheck> =>
  unquoted === undefined
    ? []
    : [
        {
          name: ChainChecks.nameOf("routes", scheme.name, network),
          run: Effect.map(unquoted, (all) => ({ troubles: all.map((one) => troubleOf(network, one)) })),
          failed: (why) => ({
            troubles: [
              {
                kind: "routes_unseen",
                problem: `the ways of payments from ${network} to other networks are not known: ${why}`,
                mend: "check the nodes of the other networks and the connections to them",
                tolerated: true
              }
            ]
          })
        }
      ]

const troubleOf = (from: string, { network, reason }: UnquotedNetwork): Trouble => ({
  kind: "route_off",
  subject: `${from} ${network}`,
  problem: `no payments go on from ${from} to ${network}: ${unquotedSentence(reason)} (${reason})`,
  mend: "the log has the details; the way is served again as soon as that is mended, without a restart",
  tolerated: true
})
