/**
 * The differences between nodes: their messages for refusals, the price that a replacement has to offer, and the fate of a
 * transaction that offers less than the base fee. Anvil's ways are held against anvil itself; those of geth are what its source
 * and its users say.
 */
import type { ModelTransaction } from "./EvmModelTransaction.ts"

/** Why a node does not take a transaction, a call, or a question about a block. */
export type NodeRefusal =
  | { readonly _tag: "AlreadyKnown" | "ReplacementUnderpriced" | "FeeBelowBase" | "GasTooLow" | "GasTooHigh" }
  | { readonly _tag: "WrongChain" | "Undecodable" | "CallGasTooLow" | "OutOfGas" | "RangeInverted" }
  | { readonly _tag: "NonceTooLow"; readonly next: bigint; readonly given: bigint }
  | { readonly _tag: "InsufficientFunds"; readonly balance: bigint; readonly cost: bigint }
  | { readonly _tag: "NoSuchBlock"; readonly head: bigint; readonly asked: bigint }
  | { readonly _tag: "NoSuchHash" | "NoLogsOfHash" }
  | { readonly _tag: "RangeTooWide"; readonly most: number }

/** A refusal as it is answered: JSON-RPC's code and the node's words. */
export interface RefusalWords {
  readonly code: number
  readonly message: string
}

/** The ways of one kind of node. */
export interface NodeDialect {
  readonly words: (refusal: NodeRefusal) => RefusalWords
  /** The code and words of a call that reverts, from the words of its `require`, where it has any. */
  readonly revert: (reason: string | undefined) => RefusalWords
  /** Whether a transaction takes the place of one with the same nonce. */
  readonly replaces: (older: ModelTransaction, newer: ModelTransaction) => boolean
  /** A transaction that offers less than the base fee waits until that falls; else it is refused, and thrown away. */
  readonly cheapWaits: boolean
  /** A question about the logs from a block on that is beyond the head is refused; else there are none. */
  readonly refusesLogsBeyondHead: boolean
  /** The logs of a block that has given way are told to who knows its hash. */
  readonly tellsLogsOfOrphans: boolean
  /** A question about the logs of a range that ends before it begins is refused; else there are none. */
  readonly refusesInvertedRange: boolean
}

const tenPercentMore = (older: bigint, newer: bigint): boolean => newer * 10n >= older * 11n && newer > older

const revert = (reason: string | undefined): RefusalWords => ({
  code: 3,
  message: reason === undefined ? "execution reverted" : `execution reverted: ${reason}`
})

/** geth, and what is made of it: most public nodes. */
export const geth: NodeDialect = {
  revert,
  replaces: (older, newer) =>
    tenPercentMore(older.maximum, newer.maximum) && tenPercentMore(older.priority, newer.priority),
  cheapWaits: true,
  refusesLogsBeyondHead: false,
  refusesInvertedRange: true,
  tellsLogsOfOrphans: true,
  words: (refusal) => ({ code: refusal._tag === "RangeTooWide" ? -32_005 : -32_000, message: gethMessage(refusal) })
}

const gethMessage = (refusal: NodeRefusal): string => {
  if (refusal._tag === "NonceTooLow") return `nonce too low: next nonce ${refusal.next}, tx nonce ${refusal.given}`
  if (refusal._tag === "NoSuchBlock") return "header not found"
  if (refusal._tag === "RangeTooWide") return `query exceeds max block range ${refusal.most}`
  if (refusal._tag !== "InsufficientFunds") return gethMessages[refusal._tag]
  const { balance, cost } = refusal
  return `insufficient funds for gas * price + value: balance ${balance}, tx cost ${cost}, overshot ${cost - balance}`
}

type Plain = Exclude<NodeRefusal["_tag"], "NonceTooLow" | "InsufficientFunds" | "NoSuchBlock" | "RangeTooWide">

const gethMessages: Readonly<Record<Plain, string>> = {
  AlreadyKnown: "already known",
  ReplacementUnderpriced: "replacement transaction underpriced",
  FeeBelowBase: "max fee per gas less than block base fee",
  GasTooLow: "intrinsic gas too low",
  GasTooHigh: "exceeds block gas limit",
  WrongChain: "invalid chain id for signer",
  Undecodable: "rlp: value size exceeds available input length",
  CallGasTooLow: "err: intrinsic gas too low",
  OutOfGas: "out of gas",
  NoSuchHash: "header for hash not found",
  NoLogsOfHash: "unknown block",
  RangeInverted: "invalid block range params"
}

/** Anvil 1.7. */
export const anvil: NodeDialect = {
  revert,
  replaces: (older, newer) => newer.maximum > older.maximum,
  cheapWaits: false,
  refusesLogsBeyondHead: true,
  refusesInvertedRange: false,
  tellsLogsOfOrphans: false,
  words: (refusal) => {
    if (refusal._tag === "RangeTooWide") {
      return { code: -32_602, message: `query exceeds max block range ${refusal.most}` }
    }
    if (refusal._tag !== "NoSuchBlock") return anvilWords[refusal._tag]
    const { asked, head } = refusal
    return { code: -32_602, message: `BlockOutOfRangeError: block height is ${head} but requested was ${asked}` }
  }
}

const anvilWords: Readonly<Record<Exclude<NodeRefusal["_tag"], "NoSuchBlock" | "RangeTooWide">, RefusalWords>> = {
  AlreadyKnown: { code: -32_003, message: "transaction already imported" },
  ReplacementUnderpriced: { code: -32_003, message: "replacement transaction underpriced" },
  FeeBelowBase: { code: -32_003, message: "max fee per gas less than block base fee" },
  GasTooLow: { code: -32_000, message: "intrinsic gas too low" },
  GasTooHigh: { code: -32_000, message: "intrinsic gas too high -- tx.gas_limit > env.block.gas_limit" },
  WrongChain: { code: -32_003, message: "invalid chain id for signer" },
  Undecodable: { code: -32_602, message: "Failed to decode transaction" },
  CallGasTooLow: { code: -32_000, message: "intrinsic gas too high -- CallGasCostMoreThanGasLimit" },
  OutOfGas: { code: -32_003, message: "out of gas: gas required exceeds allowance" },
  NonceTooLow: { code: -32_003, message: "nonce too low" },
  InsufficientFunds: { code: -32_003, message: "Insufficient funds for gas * price + value" },
  NoSuchHash: { code: -32_001, message: "Resource not found" },
  NoLogsOfHash: { code: -32_000, message: "unknown block" },
  RangeInverted: { code: -32_000, message: "invalid block range params" }
}
