/**
 * The call that does nothing but use a slot up. Where a rollup takes the price of a transaction's data out of its gas (Arbitrum), an
 * empty transfer needs more than 21 000, and the node refuses it with less: the slot would stay open for good.
 */
import * as Effect from "effect/Effect"

import type * as EvmRpc from "../node/EvmRpc.ts"
import * as Eip1559 from "../primitives/Eip1559.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import type { EvmTransactionSigner } from "../wallet/EvmTransactionSigner.ts"

/** The least gas of any transaction. */
const leastGas = 21_000n

/**
 * An empty transfer of a signer to itself, with a quarter more gas than the node estimates, since the price of data moves; with 21 000
 * where the node does not answer.
 */
export const make = Effect.fnUntraced(function* (
  rpc: Pick<EvmRpc.Shape, "estimateGas">,
  { address }: Pick<EvmTransactionSigner, "address">
): Effect.fn.Return<Eip1559.Call> {
  const call = { to: address, data: "0x" } as const
  const own = EvmAddress.fromText(address) ?? EvmAddress.zero
  const gas = yield* Effect.match(rpc.estimateGas({ from: own, to: own, data: "0x" }), {
    onSuccess: (outcome) => (outcome._tag === "Estimated" ? (outcome.gas * 5n) / 4n : leastGas),
    onFailure: () => leastGas
  })
  if (gas < leastGas) return { ...call, gas: leastGas }
  return { ...call, gas: gas > Eip1559.mostGas ? Eip1559.mostGas : gas }
})
