/**
 * Who signs the facilitator's own transactions. A viem local account fits as it is, and so does any key that is kept
 * elsewhere and offers the same method.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { Misconfigured, type Prepared, type Slot, type Survey } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmHex from "./EvmHex.ts"

/**
 * A transaction of EIP-1559, unsigned.
 *
 * @category models
 */
export interface UnsignedTransaction {
  readonly type: "eip1559"
  readonly chainId: number
  readonly nonce: number
  readonly to: EvmHex.Hex
  readonly data: EvmHex.Hex
  readonly gas: bigint
  readonly value: bigint
  /** Wei for one unit of gas. */
  readonly maxFeePerGas: bigint
  /** Wei for one unit of gas. */
  readonly maxPriorityFeePerGas: bigint
}

/**
 * Signs transactions of one account.
 *
 * @category models
 */
export interface EvmTransactionSigner {
  readonly address: EvmHex.Hex
  readonly signTransaction: (transaction: UnsignedTransaction) => Promise<EvmHex.Hex>
}

/**
 * Signs a call in a slot: the bytes and, known before they are sent, the transaction's hash.
 *
 * @category combinators
 */
export const sign = Effect.fnUntraced(function* (
  signer: EvmTransactionSigner,
  chainId: number,
  call: Pick<UnsignedTransaction, "to" | "data" | "gas">,
  slot: Slot,
  survey: Survey
): Effect.fn.Return<Prepared, Misconfigured> {
  const transaction: UnsignedTransaction = {
    type: "eip1559",
    chainId,
    nonce: Number(slot.number),
    ...call,
    value: 0n,
    maxFeePerGas: survey.fees?.maximum ?? 0n,
    maxPriorityFeePerGas: survey.fees?.priority ?? 0n
  }
  const bytes = yield* Effect.tryPromise({
    try: () => signer.signTransaction(transaction),
    catch: (cause) =>
      new Misconfigured({ message: `the facilitator's signer ${signer.address} did not sign: ${String(cause)}` })
  })
  if (!EvmHex.isHex(bytes) || bytes === "0x") {
    const message = `the facilitator's signer ${signer.address} answered something that is no transaction`
    return yield* new Misconfigured({ message })
  }
  const id = EvmHex.fromBytes(keccak_256(EvmHex.toBytes(bytes)))
  return { slot, transaction: id, bytes, head: survey.head }
})
