/**
 * A chain of the simulation, seen from the world: the roles of its scheme for each process, the troubles that can be brought
 * upon it, and the truth that no node tells: what the invariants are checked against.
 */
import type { Authorization, Block, FacilitatorScheme, Network, SchemeClient, SchemeServer } from "@pontage/core"

import type { TrialRandom } from "../../world/TrialRandom.ts"
import type { NetworkLink } from "./NetworkLink.ts"
import type { SimulatedTime } from "./SimulatedTime.ts"

/** The surroundings of a chain. Blocks come by `time`; all chance comes from `random`. */
export interface ChainSurroundings {
  readonly time: SimulatedTime
  readonly random: TrialRandom
  /** Writes a line of the story. The lines are a part of what a seed has to repeat exactly. */
  readonly note: (line: string) => void
}

/** How a facilitator is configured on a chain; may differ from one start to the next. */
export interface ChainConfiguration {
  /** Which of the chain's signers it has, by their places in `signers`. */
  readonly signers: ReadonlyArray<number>
  /** The most payments in one transaction; 1 for one by one. */
  readonly batch: number
  /** Which of the chain's nodes it asks. */
  readonly nodes: ReadonlyArray<number>
  /** The number of the chain's first assets that are configured. */
  readonly assets: number
}

/** Trouble that a plan brings upon a chain. Times are milliseconds; nodes and signers are named by their places. */
export type ChainTrouble =
  /** The newest blocks give way to others; their transactions wait again, or have never been. */
  | { readonly _tag: "Reorganise"; readonly depth: number; readonly keepsPool: boolean }
  /** A node sends no responses. */
  | { readonly _tag: "NodeDown"; readonly node: number; readonly millis: number }
  /** A node is a number of blocks behind. */
  | { readonly _tag: "NodeLags"; readonly node: number; readonly blocks: number; readonly millis: number }
  /** A node takes what it is sent, and its answers are lost. */
  | { readonly _tag: "ResponsesLost"; readonly node: number; readonly millis: number }
  /** A node says that it has taken a transaction, and forgets it. */
  | { readonly _tag: "SendsDropped"; readonly node: number; readonly millis: number }
  /** All pending transactions are dropped. */
  | { readonly _tag: "PoolEmptied" }
  /** No blocks come. */
  | { readonly _tag: "BlocksHeld"; readonly millis: number }
  /** The price of gas is multiplied. */
  | { readonly _tag: "Dear"; readonly times: number; readonly millis: number }
  /** The price of gas becomes a multiple of its calm price, and stays so. */
  | { readonly _tag: "Dearer"; readonly times: number }
  /** A stranger sends a transaction with a signer's key. */
  | { readonly _tag: "SlotUsedByStranger"; readonly signer: number }
  /** A stranger submits a pending authorization. */
  | { readonly _tag: "SettledByStranger" }
  /** Payers take what they have out of their accounts for a while. */
  | { readonly _tag: "PayerEmpties"; readonly buyer: number; readonly millis: number }

/** A transfer that is in the chain. */
export interface TrueTransfer {
  /** As `keyOf` names its authorization. */
  readonly key: string
  readonly payTo: string
  readonly amount: bigint
  readonly transaction: string
  readonly block: Block & { readonly time: number }
  /** Neither a facilitator nor the payer has sent it. */
  readonly isStrangers: boolean
}

/** The truth, whatever nodes say. */
export interface ChainTruth {
  readonly head: () => Block & { readonly time: number }
  readonly final: () => Block & { readonly time: number }
  /** The transfer of an authorization in the chain as it is now. */
  readonly transferOf: (key: string) => TrueTransfer | undefined
  /** All of them, oldest first. */
  readonly transfers: () => ReadonlyArray<TrueTransfer>
  /** Whether this block, of this branch or one that was given up, has held a transfer of the authorization. */
  readonly wasShown: (key: string, block: Block) => boolean
  /** Whether any block ever has. */
  readonly wasEverShown: (key: string) => boolean
  /** Whether any branch has ever held a stranger's transfer of this authorization. */
  readonly wasStrangers: (key: string) => boolean
  /** Whether a block may have held a transaction that carried the authorization and did not move its money. */
  readonly mayHaveFailed: (key: string) => boolean
  readonly balanceOf: (payer: string) => bigint
  /** The cost of all signers' transactions in the chain, without those of strangers with their keys. */
  readonly costs: () => bigint
}

/** A chain. */
export interface SimulatedChain {
  readonly network: Network.Network
  /** The signers that there are; a facilitator's configuration chooses among them. */
  readonly signers: ReadonlyArray<string>
  /** The number of nodes. */
  readonly nodes: number
  /** Whether asking it makes promises: then the world lets them end after every step. */
  readonly promises: boolean
  readonly payee: string
  /** The tokens that are paid in: the usual one, and where there is one, a second. */
  readonly assets: readonly [string, ...ReadonlyArray<string>]
  /** The name of an authorization: payer and nonce in one text. */
  readonly keyOf: (authorization: Pick<Authorization, "payer" | "nonce">) => string
  readonly deposit: (buyer: number, amount: bigint) => void
  readonly payer: (buyer: number) => string
  readonly client: (buyer: number) => SchemeClient
  readonly server: (link: NetworkLink) => SchemeServer
  readonly facilitator: (link: NetworkLink, configuration: ChainConfiguration) => FacilitatorScheme
  readonly bring: (trouble: ChainTrouble) => void
  /** Ends all troubles: from here on everything works. */
  readonly calm: () => void
  /** Told of each transaction that reaches a node, before the node takes it: its bytes as the engine stored them. */
  readonly onSubmit: (told: (submission: { readonly bytes: string; readonly process: string }) => void) => void
  readonly truth: ChainTruth
}
