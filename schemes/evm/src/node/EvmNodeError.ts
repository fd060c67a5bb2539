/**
 * The meaning of a node's errors. Nodes agree on few error codes and on fewer messages, so this is a table of those of the
 * common nodes (geth, reth, Nethermind, Besu, Erigon, anvil). An error that is not in it says nothing about a payment.
 */
import * as EvmHex from "../primitives/EvmHex.ts"
import type { RpcError } from "./EvmJsonRpc.ts"

/**
 * The outcome of a call. `Reverted` is any failure of the execution itself, running out of gas included; `data` is `0x`
 * where there is none, `message` the node's text.
 */
export type CallOutcome =
  | { readonly _tag: "Returned"; readonly data: EvmHex.Hex }
  | { readonly _tag: "Reverted"; readonly data: EvmHex.Hex; readonly message: string }

/** The gas that a transaction needs to succeed on the state of a block, or its failure. */
export type GasOutcome =
  | { readonly _tag: "Estimated"; readonly gas: bigint }
  | Extract<CallOutcome, { readonly _tag: "Reverted" }>

/**
 * A node's response to a signed transaction. Only `Accepted` and `AlreadyKnown` say that the node has it; the others do not
 * prove that no other node has it, or that it is in no block: look for the receipt.
 */
export type SendOutcome =
  | { readonly _tag: "Accepted"; readonly hash: EvmHex.Hex }
  | {
      readonly _tag: "AlreadyKnown" | "NonceTooLow" | "Underpriced" | "InsufficientFunds" | "Rejected"
      readonly message: string
    }

/** Messages for a failed execution, of nodes that do not use code 3 for it. */
const executionFailure =
  /revert|out of gas|invalid opcode|bad instruction|invalid jump|stack (?:under|over)flow|evm error|vm execution error|intrinsic gas/i

/** The error of a call as a failed execution, or `undefined` when the node itself has failed. */
export const toCallOutcome = ({
  code,
  data,
  message,
  rawMessage
}: RpcError): Extract<CallOutcome, { readonly _tag: "Reverted" }> | undefined => {
  const bytes = EvmHex.isHex(data) ? EvmHex.toLowerCase(data) : "0x"
  const failed = code === 3 || bytes !== "0x" || executionFailure.test(rawMessage)
  return failed ? { _tag: "Reverted", data: bytes, message } : undefined
}

const sendOutcomes = [
  ["AlreadyKnown", /already ?known|already imported|known transaction|already in (?:the )?(?:mem)?pool/i],
  ["NonceTooLow", /nonce (?:is )?too low|old ?nonce/i],
  ["Underpriced", /underpriced|fee ?too ?low|less than block base fee|gas price (?:below|too low)/i],
  ["InsufficientFunds", /insufficient ?(?:funds|balance)|exceeds account balance/i]
] as const

const busy = /rate limit|too many requests|timed? ?out|unavailable/i

/** Whether the node is busy or broken, and has said nothing about the transaction. */
const isBusy = ({ code, rawMessage }: RpcError): boolean =>
  code === -32_005 || code === -32_603 || busy.test(rawMessage)

/** Errors that a request for fewer blocks would meet too: too many requests, unknown method, unknown block. */
const notOfWidth =
  /rate limit|too many requests|request count|requests? per|compute units|unauthori[sz]ed|block not found|header not found|unknown block|does not exist|beyond .*head|in the future/i

/**
 * The error of a request for a range's events as `TooWide`, where a request for fewer blocks may succeed; else `undefined`.
 * Nodes agree on neither code nor message for it, so it is every error that is not known to mean something else.
 */
export const toTooWide = ({
  code,
  message,
  rawMessage
}: RpcError): { readonly _tag: "TooWide"; readonly message: string } | undefined =>
  code === -32_601 || notOfWidth.test(rawMessage) ? undefined : { _tag: "TooWide", message }

/** The node's rejection of a signed transaction, or `undefined` when the node itself has failed. */
export const toSendOutcome = (error: RpcError): SendOutcome | undefined => {
  const known = sendOutcomes.find(([, pattern]) => pattern.test(error.rawMessage))
  if (known !== undefined) return { _tag: known[0], message: error.message }
  return isBusy(error) ? undefined : { _tag: "Rejected", message: error.message }
}
