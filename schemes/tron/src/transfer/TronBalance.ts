/** The balance of a TRC-20 token, by its contract's `balanceOf(address)`. */
import { type Asset, ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as TronRpc from "../node/TronRpc.ts"
import * as TronAddress from "../primitives/TronAddress.ts"

/** The call data of `balanceOf(owner)`. */
export const callData = (owner: TronAddress.Address): string => `70a08231${TronAddress.toWord(owner)}`

/** The balance that a call returned, in the smallest unit; `undefined` if it returned no valid amount. */
export const fromOutcome = (outcome: TronRpc.CallOutcome): bigint | undefined =>
  outcome._tag === "Returned" && outcome.data.length === 64 ? BigInt(`0x${outcome.data}`) : undefined

/** The failure for a token that returned no valid amount. */
export const missing = ({ symbol }: Asset, network: string): ChainUnavailable =>
  new ChainUnavailable({ network, message: `${symbol} balanceOf returned no valid amount` })

/** Reads an owner's balance, in the smallest unit. */
export const read = Effect.fnUntraced(function* (
  rpc: Pick<TronRpc.TronRpc, "call" | "network">,
  asset: Asset,
  contract: TronAddress.Address,
  owner: TronAddress.Address
): Effect.fn.Return<bigint, ChainUnavailable> {
  return fromOutcome(yield* rpc.call(owner, contract, callData(owner))) ?? (yield* missing(asset, rpc.network))
})
