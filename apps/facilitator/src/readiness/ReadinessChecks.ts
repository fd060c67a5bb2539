/**
 * The list of all that `/ready` looks at. A new check is one entry in `all`: a name, a look, and the words for a look that failed.
 */
import type { PaymentStore, SchemeFacilitator } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as LaneWatch from "../metrics/LaneWatch.ts"
import * as ChainChecks from "./ChainChecks.ts"
import { type ChainView, type Finding, fine, type ReadinessCheck, type Trouble } from "./ReadinessCheck.ts"

/** What there is to look at. */
export interface Watched {
  readonly store: PaymentStore.PaymentStore["Service"]
  readonly schemes: ReadonlyArray<SchemeFacilitator>
  readonly lanes: LaneWatch.LaneWatch
  /** What each signer must hold, by network, in its smallest native unit. */
  readonly minimumGas: (network: string) => bigint
}

/** Every check, in the order of the report. */
export const all = (watched: Watched): ReadonlyArray<ReadinessCheck> => [
  records(watched),
  lanes(watched),
  ...watched.schemes.map((half) => chain(half, watched.minimumGas(half.network))),
  ...ChainChecks.all(watched.schemes, watched.store)
]

/** The name of the check of the records. */
export const recordsName = "records"

/**
 * Writes as a payment does. What the records answer names the cause and its mend, and then no payment is taken: none could be kept.
 * Records that are only slow to answer may still keep some.
 */
const records = ({ store }: Watched): ReadinessCheck => ({
  name: recordsName,
  look: Effect.match(store.probe, {
    onFailure: ({ message }): Finding => ({
      troubles: [
        {
          kind: "records_unwritable",
          problem: message,
          mend: "once that is mended, payments are taken again; without a restart, unless it says otherwise",
          stops: "all"
        }
      ]
    }),
    onSuccess: () => fine
  }),
  unseen: (why) => ({
    troubles: [
      {
        kind: "records_silent",
        problem: `the payment records cannot be asked: ${why}`,
        mend: "look at the database of PONTAGE_STORE, its load and the way to it"
      }
    ]
  }),
  watched: true
})

const lanes = ({ lanes }: Watched): ReadinessCheck => ({
  name: "lanes",
  look: Effect.map(lanes.look, (views): Finding => ({
    troubles: views
      .filter(({ moving }) => !moving)
      .map(({ address, network }) => ({
        kind: `lane_still ${network} ${address}`,
        problem: `the lane of the signer ${address} on ${network} stands still: the first payment in its queue has waited for a minute`,
        mend: "look at the signer's gas, the network's fees and ceilings, and the node; the log names the reason"
      })),
    lanes: views
  })),
  unseen: (why) => ({
    troubles: [
      {
        kind: "lanes_unseen",
        problem: `the lanes cannot be looked at: ${why}`,
        mend: "look at the database of PONTAGE_STORE and the way to it"
      }
    ]
  })
})

const chain = (half: SchemeFacilitator, minimumGas: bigint): ReadinessCheck => {
  const place = { scheme: half.scheme.name, network: half.network }
  return {
    name: `chain ${half.network}`,
    look: Effect.map(half.signers, (signers): Finding => {
      const views = signers.map(({ address, balance }) => ({
        address,
        balance: `${balance}`,
        sufficient: balance >= minimumGas
      }))
      const view: ChainView = { ...place, reachable: true, signers: views }
      const short = views.filter(({ sufficient }) => !sufficient)
      return { troubles: short.map((signer) => shortOfGas(half.network, signer, minimumGas)), chains: [view] }
    }),
    unseen: (why) => ({
      troubles: [
        {
          kind: "chain_unreachable",
          problem: `${half.network} cannot be asked: ${why}`,
          mend: "look at the network's node and the way to it, or name another node"
        }
      ],
      chains: [{ ...place, reachable: false, signers: [] }]
    })
  }
}

const shortOfGas = (network: string, { address, balance }: ChainView["signers"][number], minimum: bigint): Trouble => ({
  kind: `gas_short ${address}`,
  problem: `the signer ${address} holds ${balance} of the smallest native unit on ${network}, less than the ${minimum} that are set`,
  mend: "send gas money to it"
})
