/**
 * What a node's refusal means. Nodes agree on few error codes and on fewer words, so this is a table of what the common
 * ones say (geth, reth, Nethermind, Besu, Erigon, anvil). What is not in it is no verdict.
 */
import * as EvmHex from "../primitives/EvmHex.ts"
import type { Refusal } from "./EvmJsonRpc.ts"

/**
 * What a call came to. `Reverted` is any failure of the execution itself, running out of gas too; `data` is `0x` where
 * there is none, `message` the node's words.
 */
export type CallOutcome =
  | { readonly _tag: "Returned"; readonly data: EvmHex.Hex }
  | { readonly _tag: "Reverted"; readonly data: EvmHex.Hex; readonly message: string }

/**
 * What a node said to a signed transaction. Only `Accepted` and `AlreadyKnown` say that it has it; none of the others
 * proves that no other node does, or that it is not in a block: ask for the receipt.
 */
export type SendOutcome =
  | { readonly _tag: "Accepted"; readonly hash: EvmHex.Hex }
  | {
      readonly _tag: "AlreadyKnown" | "NonceTooLow" | "Underpriced" | "InsufficientFunds" | "Rejected"
      readonly message: string
    }

/** Failures of the execution itself, in the words of nodes that do not use code 3 for them. */
const executionFailure =
  /revert|out of gas|invalid opcode|bad instruction|invalid jump|stack (?:under|over)flow|evm error|vm execution error|intrinsic gas/i

/** The refusal of a call as a failed execution, or `undefined` when the node itself could not do it. */
export const toCallOutcome = ({ code, data, message, words }: Refusal): CallOutcome | undefined => {
  const bytes = EvmHex.isHex(data) ? EvmHex.toLowerCase(data) : "0x"
  const failed = code === 3 || bytes !== "0x" || executionFailure.test(words)
  return failed ? { _tag: "Reverted", data: bytes, message } : undefined
}

const sendOutcomes = [
  ["AlreadyKnown", /already ?known|already imported|known transaction|already in (?:the )?(?:mem)?pool/i],
  ["NonceTooLow", /nonce (?:is )?too low|old ?nonce/i],
  ["Underpriced", /underpriced|fee ?too ?low|less than block base fee|gas price (?:below|too low)/i],
  ["InsufficientFunds", /insufficient ?(?:funds|balance)|exceeds account balance/i]
] as const

const busyWords = /rate limit|too many requests|timed? ?out|unavailable/i

/** A node that is busy or broken has said nothing about the transaction. */
const isBusy = ({ code, words }: Refusal): boolean => code === -32_005 || code === -32_603 || busyWords.test(words)

/** What a question about fewer blocks would not mend: too many questions, no such method, or a block that is not there. */
const unmendable =
  /rate limit|too many requests|request count|requests? per|compute units|unauthori[sz]ed|block not found|header not found|unknown block|does not exist|beyond .*head|in the future/i

/**
 * The refusal of a question about the events of a range, where one about fewer blocks may be answered; `undefined` where it
 * would not. Nodes agree on neither code nor words for it, so it is everything that is not known to be something else.
 */
export const toWidthRefusal = ({
  code,
  message,
  words
}: Refusal): { readonly _tag: "TooWide"; readonly words: string } | undefined =>
  code === -32_601 || unmendable.test(words) ? undefined : { _tag: "TooWide", words: message }

/** The refusal of a signed transaction, or `undefined` when the node itself was the trouble. */
export const toSendOutcome = (refusal: Refusal): SendOutcome | undefined => {
  const known = sendOutcomes.find(([, pattern]) => pattern.test(refusal.words))
  if (known !== undefined) return { _tag: known[0], message: refusal.message }
  return isBusy(refusal) ? undefined : { _tag: "Rejected", message: refusal.message }
}
