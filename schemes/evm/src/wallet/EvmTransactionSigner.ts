/**
 * Signers of the facilitator's own transactions: `exactEvm.localSigner` for a key in memory, a viem local account as it is,
 * and any key kept elsewhere that offers the same method.
 */
import { Misconfigured, type PreparedTransaction, type Slot, type ChainHead } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmCrypto from "../crypto/EvmCrypto.ts"
import type { Call, UnsignedTransaction } from "../primitives/Eip1559.ts"
import * as EvmHex from "../primitives/EvmHex.ts"

/** Signs transactions of one account. */
export interface EvmTransactionSigner {
  readonly address: EvmHex.Hex
  readonly signTransaction: (transaction: UnsignedTransaction) => Promise<EvmHex.Hex>
}

/** The longest wait for a signature, in milliseconds: all signers of a network may wait for it. A later one is dropped. */
const longestMillis = 10_000

const late = ({ address }: EvmTransactionSigner) => {
  const message = `the facilitator's signer ${address} did not sign in time: no answer in ${longestMillis} ms; check the service that holds its key`
  return Effect.fail(new Misconfigured({ message }))
}

/**
 * Signs a call in a slot. The result has the bytes and, before they are sent, the transaction's hash, which is computed from
 * the bytes and not taken from the signer.
 */
export const sign = Effect.fnUntraced(function* (
  signer: EvmTransactionSigner,
  chainId: number,
  { authorizationList = [], value = 0n, ...call }: Call,
  slot: Slot,
  chainHead: ChainHead,
  { keccak256 }: Pick<EvmCrypto.Shape, "keccak256"> = EvmCrypto.javaScript
): Effect.fn.Return<PreparedTransaction, Misconfigured> {
  const { maximum, priority } = chainHead.fees ?? { maximum: 0n, priority: 0n }
  const fields = {
    chainId,
    nonce: Number(slot.number),
    ...call,
    value,
    maxFeePerGas: maximum,
    maxPriorityFeePerGas: priority
  }
  const transaction: UnsignedTransaction =
    authorizationList.length === 0 ? { type: "eip1559", ...fields } : { type: "eip7702", ...fields, authorizationList }
  const bytes = yield* Effect.tryPromise({
    try: () => signer.signTransaction(transaction),
    catch: (cause) =>
      new Misconfigured({ message: `the facilitator's signer ${signer.address} did not sign: ${String(cause)}` })
  }).pipe(Effect.timeoutOrElse({ duration: longestMillis, orElse: () => late(signer) }))
  if (!EvmHex.isHex(bytes) || bytes === "0x") {
    const message = `the facilitator's signer ${signer.address} returned no transaction's bytes; expected 0x and hexadecimal digits`
    return yield* new Misconfigured({ message })
  }
  const id = EvmHex.fromBytes(keccak256(EvmHex.toBytes(bytes)))
  const head = chainHead.head.number
  return { slot, transaction: id, bytes, head, cost: call.gas * maximum + value, fees: { maximum, priority } }
})
