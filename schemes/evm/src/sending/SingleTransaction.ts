/**
 * One transaction outside the lanes, sent and waited for: a deployment, or a payer's own call.
 */
import { ChainUnavailable, Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmChainHead from "../node/EvmChainHead.ts"
import type * as EvmRpc from "../node/EvmRpc.ts"
import type { Call } from "../primitives/Eip1559.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import { type EvmTransactionSigner, sign } from "../wallet/EvmTransactionSigner.ts"

/** A transaction to send; `purpose` names it in messages, such as "the deployment". */
export interface SingleTransaction {
  readonly signer: EvmTransactionSigner
  readonly call: Call
  /** The maximum price of a unit of gas, in wei; default 500 gwei. */
  readonly maxFeePerGas: bigint | undefined
  readonly purpose: string
}

const receiptPause = "500 millis"
const receiptTimeout = "2 minutes"

/**
 * Sends the transaction and returns its receipt, of success or not. Fails with `Misconfigured` where gas costs more than
 * `maxFeePerGas` or the node rejects the transaction, and with `ChainUnavailable` when no node shows a receipt within two minutes.
 */
export const send = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  chainId: number,
  transaction: SingleTransaction
): Effect.fn.Return<EvmRpc.Receipt, ChainUnavailable | Misconfigured> {
  const { bytes, transaction: hash } = yield* signed(rpc, chainId, transaction)
  const sent = yield* rpc.sendRawTransaction(EvmHex.fromTrusted(bytes))
  if (sent._tag !== "Accepted" && sent._tag !== "AlreadyKnown") {
    const message = `the node of ${rpc.network} rejected ${transaction.purpose}: ${sent.message}`
    return yield* new Misconfigured({ message })
  }
  return yield* included(rpc, EvmHex.fromTrusted(hash), transaction.purpose)
})

const signed = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  chainId: number,
  { call, maxFeePerGas, signer }: SingleTransaction
) {
  const chainHead = yield* EvmChainHead.make(rpc, maxFeePerGas === undefined ? {} : { maxFeePerGas })
  if (chainHead.fees !== undefined && chainHead.fees.maximum > chainHead.fees.ceiling) {
    const message = `gas on ${rpc.network} costs more than the ${chainHead.fees.ceiling} wei that maxFeePerGas allows`
    return yield* new Misconfigured({ message })
  }
  const number = BigInt(yield* rpc.getTransactionCount(EvmAddress.fromTail(signer.address), "pending"))
  return yield* sign(signer, chainId, call, { lane: signer.address, number }, chainHead)
})

const included = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  hash: EvmHex.Hex,
  purpose: string
): Effect.fn.Return<EvmRpc.Receipt, ChainUnavailable> {
  const message = `${purpose} ${hash} is not included in a block of ${rpc.network} yet`
  const late = new ChainUnavailable({ network: rpc.network, message })
  const receipt = yield* rpc.getTransactionReceipt(hash).pipe(
    Effect.tap((found) => (found === undefined ? Effect.sleep(receiptPause) : Effect.void)),
    Effect.repeat({ while: (found) => found === undefined }),
    Effect.timeoutOrElse({ duration: receiptTimeout, orElse: () => Effect.fail(late) })
  )
  return receipt ?? (yield* late)
})
