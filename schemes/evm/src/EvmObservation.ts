/**
 * What the chain shows of a settlement that was sent: the receipt of our transaction, and when that shows no transfer, the
 * token's own events, since anybody may have submitted the authorization before us.
 */
import {
  type ChainUnavailable,
  invalid,
  type Observation,
  type PaymentError,
  type Prepared,
  type ValidationError
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import type * as EvmAddress from "./EvmAddress.ts"
import * as EvmHex from "./EvmHex.ts"
import * as EvmRefusal from "./EvmRefusal.ts"
import type * as EvmRpc from "./EvmRpc.ts"
import * as EvmTransferProof from "./EvmTransferProof.ts"
import * as EvmVerification from "./EvmVerification.ts"

/**
 * The call that can be simulated once more, to learn why it failed.
 *
 * @category models
 */
export interface Again {
  readonly from: EvmAddress.Address
  readonly call: Effect.Effect<EvmVerification.TransferCall, PaymentError | ValidationError | ChainUnavailable>
}

/** Blocks that may pass between a payment's verification and its preparation: where an earlier use is looked for. */
const blocksBefore = 64n

/**
 * Looks for the proof of a transfer, or of its impossibility.
 *
 * @category combinators
 */
export const observe = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  expected: EvmTransferProof.Expected,
  prepared: Prepared,
  again: Again
): Effect.fn.Return<Observation, ChainUnavailable> {
  const transaction = EvmHex.fromTrusted(prepared.transaction)
  const receipt = yield* rpc.getTransactionReceipt(transaction)
  if (receipt === undefined) return { _tag: "Pending" }
  const verdict = EvmTransferProof.judge(expected, receipt.logs)
  if (receipt.status === "success" && verdict === "paid") {
    return { _tag: "Settled", transaction, block: receipt.blockNumber, external: false }
  }
  if (verdict === "burnt") return failed(transaction, burnt(transaction))
  const fromBlock = prepared.head + 1n
  const [end] = yield* rpc.getLogs({ ...EvmTransferProof.endings(expected), fromBlock })
  if (end !== undefined) return yield* ended(rpc, expected, end)
  return receipt.status === "success" ? failed(transaction, unproven) : yield* reverted(rpc, expected, prepared, again)
})

/** Some other transaction has used the authorization up: did it pay? */
const ended = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  expected: EvmTransferProof.Expected,
  { blockNumber, topics, transactionHash }: EvmRpc.Log
): Effect.fn.Return<Observation, ChainUnavailable> {
  if (EvmTransferProof.isCancellation(topics)) return failed(transactionHash, canceled(transactionHash))
  const receipt = yield* rpc.getTransactionReceipt(transactionHash)
  if (receipt === undefined) return { _tag: "Pending" }
  return EvmTransferProof.judge(expected, receipt.logs) === "paid"
    ? { _tag: "Settled", transaction: transactionHash, block: blockNumber, external: true }
    : failed(transactionHash, burnt(transactionHash))
})

/**
 * Our transaction reverted and nobody else's is to be seen: the transfer is simulated on the state as it is now. Where the
 * state knows a use that the logs do not show, the node has not caught up with itself, and nothing is proven yet.
 */
const reverted = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  expected: EvmTransferProof.Expected,
  { head, transaction }: Prepared,
  again: Again
): Effect.fn.Return<Observation, ChainUnavailable> {
  const call = yield* Effect.result(again.call)
  if (Result.isFailure(call)) {
    return call.failure._tag === "ChainUnavailable" ? yield* call.failure : failed(transaction, call.failure)
  }
  const outcome = yield* rpc.call({ from: again.from, ...call.success })
  if (outcome._tag === "Returned") return failed(transaction, unexplained)
  const revert = yield* EvmVerification.explainRevert(outcome)
  if (revert._tag === "UsedOrCanceled") return yield* endedBefore(rpc, expected, head)
  const error = EvmRefusal.fromRevert(rpc.network, revert)
  return failed(transaction, error._tag === "ChainUnavailable" ? unexplained : error)
})

/** A use that was in a block before this payment was prepared is not this payment's. */
const endedBefore = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  expected: EvmTransferProof.Expected,
  head: bigint
): Effect.fn.Return<Observation, ChainUnavailable> {
  const fromBlock = head > blocksBefore ? head - blocksBefore : 0n
  const [end] = yield* rpc.getLogs({ ...EvmTransferProof.endings(expected), fromBlock, toBlock: head })
  if (end === undefined) return { _tag: "Pending" }
  return failed(end.transactionHash, usedBefore(end.transactionHash))
})

const failed = (transaction: string, error: PaymentError | ValidationError): Observation => ({
  _tag: "Failed",
  transaction,
  error
})

const burnt = (transaction: string) =>
  invalid(
    "already_used",
    transaction,
    `the authorization's nonce was used in ${transaction} for something else than this payment`
  )

const usedBefore = (transaction: string) =>
  invalid("already_used", transaction, `the authorization was used in ${transaction}, before it was claimed here`)

const canceled = (transaction: string) =>
  invalid("already_used", "nonce_canceled", `the payer has taken the authorization back in ${transaction}`)

const unexplained = invalid(
  "unsupported_authorization",
  "transfer_reverted",
  "the transfer was refused on the chain although it had been simulated with success; sign a new payment"
)

const unproven = invalid(
  "unsupported_authorization",
  "transfer_not_shown",
  "the token took the call and shows no transfer; nothing can be paid in it"
)
