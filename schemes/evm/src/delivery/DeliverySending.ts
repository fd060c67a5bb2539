/** Signs the transactions that deliver messages: one message a transaction, which anybody may send. */
import { type ChainHead, Misconfigured, type Preparation, type PreparedTransaction, type Slot } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "../node/EvmRpc.ts"
import * as Eip1559 from "../primitives/Eip1559.ts"
import * as NoopCall from "../sending/NoopCall.ts"
import { type EvmTransactionSigner, sign } from "../wallet/EvmTransactionSigner.ts"

/** The chain, and the signers by their addresses with checksum. */
export interface SendingChain {
  readonly rpc: Pick<EvmRpc.Shape, "estimateGas">
  readonly network: string
  readonly chainId: number
  readonly signers: ReadonlyMap<string, EvmTransactionSigner>
}

/** Signs the call of a delivery. */
export const prepare = (
  chain: SendingChain,
  call: Eip1559.Call,
  slot: Slot | undefined,
  chainHead: ChainHead
): Effect.Effect<Preparation, Misconfigured> =>
  Effect.map(signIn(chain, slot, call, chainHead), (prepared) => ({ prepared, count: 1 }))

/** Signs the call of a transaction once more, at the chain head's fees. */
export const prepareReplacement = Effect.fnUntraced(function* (
  chain: SendingChain,
  slot: Slot | undefined,
  chainHead: ChainHead,
  { bytes, transaction }: PreparedTransaction
): Effect.fn.Return<Preparation, Misconfigured> {
  const call = Eip1559.callIn(bytes)
  if (call === undefined) {
    const message = `the bytes of ${transaction} are not an EIP-1559 transaction; it cannot be signed again`
    return yield* new Misconfigured({ message })
  }
  return { prepared: yield* signIn(chain, slot, call, chainHead), count: 1 }
})

/** Signs a transaction that does nothing, to use a slot up. */
export const noop = (
  chain: SendingChain,
  slot: Slot,
  chainHead: ChainHead
): Effect.Effect<PreparedTransaction, Misconfigured> => {
  const signer = chain.signers.get(slot.lane)
  return signer === undefined
    ? missing(chain, slot)
    : Effect.flatMap(NoopCall.make(chain.rpc, signer), (call) => sign(signer, chain.chainId, call, slot, chainHead))
}

const signIn = (
  chain: SendingChain,
  slot: Slot | undefined,
  call: Eip1559.Call,
  chainHead: ChainHead
): Effect.Effect<PreparedTransaction, Misconfigured> => {
  const signer = slot && chain.signers.get(slot.lane)
  return slot === undefined || signer === undefined
    ? missing(chain, slot)
    : sign(signer, chain.chainId, call, slot, chainHead)
}

const missing = ({ network }: SendingChain, slot: Slot | undefined) => {
  const message = `no signer of ${network} works the lane ${slot?.lane ?? "(none)"}`
  return Effect.fail(new Misconfigured({ message }))
}
