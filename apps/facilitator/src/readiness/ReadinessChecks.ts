/**
 * All checks of `/ready`. A new check is one entry in `all`: its name, its effect, and the finding of a failed run.
 */
import { OptionCheck, type PaymentStore, type SchemeFacilitator } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as ChainChecks from "./ChainChecks.ts"
import * as DeliveryCheck from "./DeliveryCheck.ts"
import type * as LaneWatch from "./LaneWatch.ts"
import { type ChainView, type Finding, fine, type ReadinessCheck, type Trouble } from "./ReadinessCheck.ts"
import * as RouteCheck from "./RouteCheck.ts"

/** Subjects of the checks. */
export interface Subjects {
  readonly store: PaymentStore.PaymentStore["Service"]
  readonly schemes: ReadonlyArray<SchemeFacilitator>
  readonly lanes: LaneWatch.LaneWatch
  /** Least balance of each signer, by network, in its smallest native unit. */
  readonly minimumGas: (network: string) => bigint
  readonly missing: ReadonlyArray<MissingChain>
}

/** A chain of the settings that the service runs without, because its node did not respond, or serves another network. */
export interface MissingChain {
  /** The scheme that it is for; default `exact`. */
  readonly scheme?: string
  /** Its network; the family alone where only the node can tell the network. */
  readonly network: string
  /** The node's address without the parts that may hold keys. */
  readonly node: string
  /** The reason, as the rest of a sentence that begins with the node: `does not respond (...)`. */
  readonly problem: string
}

/** Checks one, for options that take it as a plain value. */
export const missingCheck: OptionCheck.Check<MissingChain> = OptionCheck.options<MissingChain>({
  scheme: OptionCheck.optional(OptionCheck.text),
  network: OptionCheck.text,
  node: OptionCheck.text,
  problem: OptionCheck.text
})

/** Every check, in the order of the report. */
export const all = (subjects: Subjects): ReadonlyArray<ReadinessCheck> => [
  records(subjects),
  lanes(subjects),
  ...(subjects.schemes.some(({ onward }) => onward !== undefined) ? [DeliveryCheck.make(subjects.store)] : []),
  ...subjects.missing.map(absent),
  ...subjects.schemes.flatMap(RouteCheck.make),
  ...subjects.schemes.map((scheme) => chain(scheme, subjects.minimumGas(scheme.network))),
  ...ChainChecks.all(subjects.schemes, subjects.store)
]

/** Name of the check of the records. */
export const recordsName = "records"

/**
 * Writes as much as a payment does. If the write fails, every payment is refused, since none could be recorded; the store's
 * message names the cause and the remedy. A store that is only slow refuses none.
 */
const records = ({ store }: Subjects): ReadinessCheck => ({
  name: recordsName,
  run: Effect.match(store.probe, {
    onFailure: ({ message }): Finding => ({
      troubles: [
        {
          kind: "records_unwritable",
          problem: message,
          mend: "payments are taken again as soon as that is mended, without a restart unless the message asks for one",
          stops: "all"
        }
      ]
    }),
    onSuccess: () => fine
  }),
  failed: (why) => ({
    troubles: [
      {
        kind: "records_silent",
        problem: `the payment records do not respond: ${why}`,
        mend: "check the database of PONTAGE_STORE, its load and the connection to it"
      }
    ]
  }),
  watched: true
})

const lanes = ({ lanes }: Subjects): ReadinessCheck => ({
  name: "lanes",
  run: Effect.map(lanes.look, (views): Finding => ({
    troubles: views
      .filter(({ moving }) => !moving)
      .map(({ address, network }) => ({
        kind: "lane_still",
        subject: `${network} ${address}`,
        problem: `the lane of the signer ${address} on ${network} stands still: the first payment in its queue has waited for a minute`,
        mend: "check the signer's gas, the network's fees and ceilings, and the node; the log names the reason"
      })),
    lanes: views
  })),
  failed: (why) => ({
    troubles: [
      {
        kind: "lanes_unseen",
        problem: `the lanes cannot be read: ${why}`,
        mend: "check the database of PONTAGE_STORE and the connection to it"
      }
    ]
  })
})

/** The service tries the node again by itself, so this check sends nothing. */
const absent = ({ network, node, problem, scheme = "exact" }: MissingChain): ReadinessCheck => {
  const finding: Finding = {
    troubles: [
      {
        kind: "chain_missing",
        problem: `${network} is missing: its node ${node} ${problem}`,
        mend: "check the node and the connection to it, or set another node; the service takes it in as soon as it responds as it has to"
      }
    ],
    chains: [{ scheme, network, reachable: false, signers: [] }]
  }
  return {
    name: ChainChecks.nameOf("connection", scheme, `${network} ${node}`),
    run: Effect.succeed(finding),
    failed: () => finding
  }
}

const chain = (scheme: SchemeFacilitator, minimumGas: bigint): ReadinessCheck => {
  const place = { scheme: scheme.scheme.name, network: scheme.network }
  return {
    name: ChainChecks.nameOf("chain", scheme.scheme.name, scheme.network),
    run: Effect.map(scheme.signers, (signers): Finding => {
      const views = signers.map(({ address, balance }) => ({
        address,
        balance: `${balance}`,
        sufficient: balance >= minimumGas
      }))
      const view: ChainView = { ...place, reachable: true, signers: views }
      const short = views.filter(({ sufficient }) => !sufficient)
      return { troubles: short.map((signer) => shortOfGas(scheme.network, signer, minimumGas)), chains: [view] }
    }),
    failed: (why) => ({
      troubles: [
        {
          kind: "chain_unreachable",
          problem: `${scheme.network} does not respond: ${why}`,
          mend: "check the network's node and the connection to it, or set another node"
        }
      ],
      chains: [{ ...place, reachable: false, signers: [] }]
    })
  }
}

const shortOfGas = (network: string, { address, balance }: ChainView["signers"][number], minimum: bigint): Trouble => ({
  kind: "gas_short",
  subject: address,
  problem: `the signer ${address} holds ${balance} of the smallest native unit on ${network}, less than the minimum of ${minimum}`,
  mend: "send gas money to it"
})
