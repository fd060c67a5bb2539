/**
 * Faults of the EVM scheme, brought back into its source while a process of its own loads it, and the seeds that it takes to find
 * each: what keeps a payment from a false end is held in several places, so a fault takes them all out.
 */
import { fork } from "node:child_process"

import * as Schema from "effect/Schema"

import { fileOf, processOptions, type SourceMutation } from "../../attacks/SourceMutation.ts"

/** A mutation: the fault in words, and its place in the source. */
export interface EvmSourceMutation {
  readonly words: string
  readonly mutation: SourceMutation
}

/** A failure is told at the first look that repeats, however young its block is. */
const toldAtOnce = [
  {
    module: "schemes/evm/src/evidence/EvmUnconfirmedFailures",
    piece: "head.number <= since || block.number > final.number",
    instead: "false"
  },
  {
    module: "schemes/evm/src/evidence/EvmUnconfirmedFailures",
    piece: "isEnded || final.timestamp >= validBefore",
    instead: "true"
  }
] as const

const finalStateUnasked = {
  module: "schemes/evm/src/evidence/EvmObservation",
  piece: "(yield* EvmTokenState.hasEnded(rpc, expected, final)) !== failure.isEnded",
  instead: "false"
}

/** All of them. */
export const evmSourceMutations = {
  "ranges-in-one-question": {
    words: "the events of a range are asked for in one question, whatever the node takes",
    mutation: [{ module: "schemes/evm/src/node/EvmLogRange", piece: "requested <= 1n", instead: "true" }]
  },
  "read-at-the-newest-block": {
    words: "what is not in a receipt is looked for at the newest block that some node has, and is told at once",
    mutation: [
      ...toldAtOnce,
      finalStateUnasked,
      {
        module: "schemes/evm/src/evidence/EvmMissingTransfers",
        piece: "inItsBlock(included, (block) => EvmTokenState.hasEnded(rpc, expected, block))",
        instead: 'EvmTokenState.hasEnded(rpc, expected, "latest")'
      },
      {
        module: "schemes/evm/src/evidence/EvmMissingTransfers",
        piece: "inItsBlock(included, (block) => explain(tried, block))",
        instead: 'explain(tried, "latest")'
      }
    ]
  },
  "failure-at-depth-one": {
    words: "a failure is told when a block shows it, which may be taken back",
    mutation: [...toldAtOnce, finalStateUnasked]
  },
  "receipt-is-believed": {
    words: "a receipt is believed whatever block it names",
    mutation: [
      {
        module: "schemes/evm/src/evidence/EvmTransferEvidence",
        piece: "block?.hash === found.blockHash ? { ...found, time: Number(block.timestamp) } : undefined",
        instead: "{ ...found, time: Number(block?.timestamp) }"
      }
    ]
  },
  "status-is-proof": {
    words:
      "a transaction that a receipt tells to have failed has failed for all its payments, and they are told at once",
    mutation: [
      ...toldAtOnce,
      finalStateUnasked,
      {
        module: "schemes/evm/src/evidence/EvmMissingTransfers",
        piece: "if (isEnded === undefined)",
        instead: "if (isEnded !== undefined) return failureOf(included, unexplained, false); else"
      }
    ]
  }
} as const satisfies Readonly<Record<string, EvmSourceMutation>>

export type EvmSourceMutationName = keyof typeof evmSourceMutations

/** Their names. */
export const evmSourceMutationNames = [
  "ranges-in-one-question",
  "read-at-the-newest-block",
  "failure-at-depth-one",
  "receipt-is-believed",
  "status-is-proof"
] as const satisfies ReadonlyArray<EvmSourceMutationName>

/** The result of a search: the number of seeds, and the broken promise; absent if no seed shows the fault. */
export interface FaultSearch {
  readonly seeds: number
  readonly broken: string | undefined
}

const decodeSearch = Schema.decodeUnknownSync(
  Schema.Struct({ seeds: Schema.Number, broken: Schema.optional(Schema.String) })
)

/** Simulates seeds from a first one on, up to a limit, in a process with the fault or in one without any. */
export const search = (name: EvmSourceMutationName | undefined, first: number, most: number): Promise<FaultSearch> => {
  const mutation = name === undefined ? undefined : evmSourceMutations[name].mutation
  const { environment, execArgv } = processOptions(mutation, false)
  const { PATH } = process.env
  const child = fork(fileOf("apps/trials/src/simulation/evm/EvmMutationMain"), [`${first}`, `${most}`], {
    execArgv: [...execArgv, "--no-warnings"],
    env: { PATH, ...environment }
  })
  return new Promise((resolve, reject) => {
    child.once("message", (found) => {
      const { broken, seeds } = decodeSearch(found)
      resolve({ broken, seeds })
    })
    child.once("exit", (code) => reject(new Error(`the process ended with ${code} before it had found anything`)))
  })
}
