/**
 * A chain with the contract of channels, and both facilitators behind HTTP: what the rows of the channel matrix share.
 */
import { LocalFacilitator } from "@pontage/core"
import * as BaseSepoliaChain from "@pontage/devnet/BaseSepoliaChain"
import { ChannelCall, ChannelContract, ChannelEvent, channelEvm } from "@pontage/evm"
import { ChannelContracts } from "@pontage/evm/testing"
import * as FacilitatorService from "@pontage/facilitator"
import { BatchSettlementEvmScheme } from "@x402/evm/batch-settlement/facilitator"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Hex } from "viem"

import * as PeerFacilitator from "../facilitators/PeerFacilitator.ts"
import { named } from "../PeerVersions.ts"

/** The facilitators, as the table calls them. */
export const facilitators = {
  ours: "our facilitator",
  service: "our facilitator, at a URL",
  peer: named("@x402/core")
} as const

/** Their names. */
export type FacilitatorName = keyof typeof facilitators

/** The chain, and the facilitators' addresses. */
export interface ChannelMarket {
  readonly chain: BaseSepoliaChain.BaseSepoliaChain
  readonly facilitators: Readonly<Record<FacilitatorName, string>>
}

/** Opens it as long as the scope. */
export const make: Effect.Effect<ChannelMarket, unknown, Scope.Scope> = Effect.gen(function* () {
  const chain = yield* BaseSepoliaChain.make
  const { accounts, rpcUrl } = chain.node
  yield* ChannelContracts.deploy(chain.node)
  const [first, second] = accounts.signers
  const schemes = [channelEvm.facilitator({ signer: first, rpcUrl })]
  const local = yield* Layer.build(LocalFacilitator.layerMemory({ schemes }))
  const ours = yield* FacilitatorService.serve({ port: 0, stopTimeoutMillis: 1 }).pipe(Effect.provide(local))
  const peer = yield* PeerFacilitator.start({ rpcUrl, key: second.privateKey, pollingMillis: 20 }, [
    (signer) => new BatchSettlementEvmScheme(signer)
  ])
  return { chain, facilitators: { ours: ours.url, service: ours.url, peer: peer.url } }
})

/** The channels that have a deposit above a block, each once. */
export const fundedSince = ({ chain: { node } }: ChannelMarket, block: bigint) =>
  Effect.promise(async () => {
    const logs = await node.client.getLogs({ address: ChannelContract.address, fromBlock: block + 1n })
    const ids = logs.flatMap(({ topics: [topic, id] }) =>
      topic === ChannelEvent.topics.Deposited && id !== undefined ? [id] : []
    )
    return [...new Set(ids)]
  })

/** Balance and claims of a channel. */
export const sumsOf = ({ chain: { node } }: ChannelMarket, channelId: Hex) =>
  Effect.promise(async () => {
    const call = { to: ChannelContract.address, data: ChannelCall.channels(channelId) }
    const { data = "0x" } = await node.client.call(call)
    const pair = ChannelCall.readPair(data)
    if (pair === undefined) throw new Error("the contract returned no sums")
    const [balance, claimed] = pair
    return { balance, claimed }
  })
