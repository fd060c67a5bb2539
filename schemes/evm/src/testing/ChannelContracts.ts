/**
 * Payment channels on a test chain: our contract of the published one's behaviour at its address, its two collectors, and a
 * batch of reads at Multicall3's address. Deposits by Permit2 need `Permit2Contracts.deploy` too.
 */
import * as Effect from "effect/Effect"
import { type Address, type Hex } from "viem"

import * as ChannelContract from "../voucher/ChannelContract.ts"
import { ChannelSettlement } from "./artifacts/ChannelSettlement.ts"
import { Erc3009Collector } from "./artifacts/Erc3009Collector.ts"
import { Permit2Collector } from "./artifacts/Permit2Collector.ts"
import { ReadBatch } from "./artifacts/ReadBatch.ts"
import type * as EvmTestChain from "./EvmTestChain.ts"

/** The published address of Multicall3, by which x402's packages read. */
export const multicall3: Address = "0xcA11bde05977b3631167028862bE2a173976CA11"

const contracts: ReadonlyArray<readonly [Address, { readonly bytecode: Hex }]> = [
  [ChannelContract.address, ChannelSettlement],
  [ChannelContract.erc3009Collector, Erc3009Collector],
  [ChannelContract.permit2Collector, Permit2Collector],
  [multicall3, ReadBatch]
]

/** The code that a contract's creation leaves on the chain; none of ours reads anything when it is created. */
const codeOf = Effect.fnUntraced(function* ({ client }: EvmTestChain.Shape, bytecode: Hex) {
  const { data } = yield* Effect.promise(() => client.call({ data: bytecode }))
  return data ?? (yield* Effect.die("the contract's creation returned no code"))
})

/** Puts the contracts where the chain does not have them yet. */
export const deploy = Effect.fnUntraced(function* (chain: EvmTestChain.Shape) {
  for (const [address, { bytecode }] of contracts) {
    const present = yield* Effect.promise(() => chain.client.getCode({ address }))
    if (present === undefined) yield* chain.setCode(address, yield* codeOf(chain, bytecode))
  }
})
