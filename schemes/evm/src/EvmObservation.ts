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

import type * as EvmAddress from "./EvmAddress.ts"
import * as EvmHex from "./EvmHex.ts"
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
  readonly call: EvmVerification.TransferCall | undefined
}

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
  return yield* elsewhere(rpc, expected, prepared, again)
})

/** Our transaction did not move the money. If the authorization was used, some other transaction did it. */
const elsewhere = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  expected: EvmTransferProof.Expected,
  prepared: Prepared,
  again: Again
): Effect.fn.Return<Observation, ChainUnavailable> {
  const topics = EvmTransferProof.usedTopics(expected)
  const [use] = yield* rpc.getLogs({
    address: expected.token,
    topics,
    fromBlock: prepared.head + 1n
  })
  if (use === undefined) return failed(prepared.transaction, yield* reason(rpc, again))
  const receipt = yield* rpc.getTransactionReceipt(use.transactionHash)
  if (receipt === undefined) return { _tag: "Pending" }
  return EvmTransferProof.judge(expected, receipt.logs) === "paid"
    ? { _tag: "Settled", transaction: use.transactionHash, block: use.blockNumber, external: true }
    : failed(use.transactionHash, burnt(use.transactionHash))
})

/** Why the transfer failed, by simulating it on the state as it is now. */
const reason = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  { call, from }: Again
): Effect.fn.Return<PaymentError | ValidationError, ChainUnavailable> {
  const unexplained = invalid(
    "unsupported_authorization",
    "transfer_reverted",
    "the transfer was refused on the chain although it had been simulated with success; sign a new payment"
  )
  if (call === undefined) return unexplained
  const outcome = yield* Effect.flip(
    Effect.andThen(EvmVerification.simulate(rpc, from, call), Effect.fail(unexplained))
  )
  return outcome._tag === "ChainUnavailable" ? yield* outcome : outcome
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
