/**
 * The shops of the channel matrix, each with the facilitators that it can have: ours keeps its ledger with our facilitator in its own
 * process, the published one has a facilitator behind HTTP and claims by itself.
 */
import { ChannelStore, LocalFacilitator, MemoryChannelStore, protocolSeller, x402v2Seller } from "@pontage/core"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { channelEvm } from "@pontage/evm"
import { HTTPFacilitatorClient } from "@x402/core/server"
import { BatchSettlementEvmScheme } from "@x402/evm/batch-settlement/server"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Hex } from "viem"

import { named } from "../PeerVersions.ts"
import type { Shop } from "../shops/Goods.ts"
import * as OurKoaShop from "../shops/OurKoaShop.ts"
import * as PeerExpressShop from "../shops/PeerExpressShop.ts"
import type { ChannelMarket, FacilitatorName } from "./ChannelMarket.ts"

/** Told to a shop: its facilitator, its payee, and what its handlers wait for. */
export interface ShopTerms {
  readonly facilitator: FacilitatorName
  readonly payTo: Hex
  readonly before: () => Promise<void>
}

/** A shop of channels, and its own books. */
export interface ChannelShop extends Shop {
  /** The sum that it has charged a channel. */
  readonly charged: (channelId: string) => Effect.Effect<bigint>
  /** Claims what it has charged. Ours does so by itself. */
  readonly claim: Effect.Effect<void>
}

type Open = (market: ChannelMarket, terms: ShopTerms) => Effect.Effect<ChannelShop, unknown, Scope.Scope>

/** Everything that is charged is due at once. */
const watch = { pollMillis: 20, leastClaim: 1n, maximumAgeMillis: 0, leastPayout: 1n }

const openOurs: Open = Effect.fnUntraced(function* (market, { before, facilitator, payTo }) {
  const { accounts, rpcUrl } = market.chain.node
  const ledger = MemoryChannelStore.make()
  const authorizer = { signer: accounts.stranger }
  const inProcess = LocalFacilitator.layerMemory({
    schemes: [channelEvm.facilitator({ signer: accounts.signers[2], rpcUrl, authorizer, minimumDeposit: 1n })],
    channels: watch
  }).pipe(Layer.provide(Layer.succeed(ChannelStore, ledger)))
  const url = market.facilitators[facilitator]
  const shop = yield* OurKoaShop.start(
    { facilitator: url, rpcUrl, payTo },
    {
      before,
      schemes: [channelEvm.server({ rpcUrl })],
      route: () => ({ scheme: "batch-settlement", dialects: [protocolSeller, x402v2Seller] }),
      ...(facilitator === "ours" && { facilitator: inProcess })
    }
  )
  const charged = (channelId: string) =>
    ledger.find(channelId).pipe(
      Effect.map((standing) => standing?.charged ?? 0n),
      Effect.orDie
    )
  return { ...shop, charged, claim: Effect.void }
})

const openPeer: Open = Effect.fnUntraced(function* (market, { before, facilitator, payTo }) {
  const { accounts, rpcUrl } = market.chain.node
  const url = market.facilitators[facilitator]
  const scheme = new BatchSettlementEvmScheme(payTo, {
    receiverAuthorizerSigner: accounts.stranger,
    onchainStateTtlMs: 0
  })
  const options = { facilitator: url, rpcUrl, payTo }
  const shop = yield* PeerExpressShop.open(options, scheme, { scheme: "batch-settlement", before })
  const manager = scheme.createChannelManager(
    new HTTPFacilitatorClient({ url }),
    BaseSepolia.network,
    BaseSepolia.token
  )
  const charged = (channelId: string) =>
    Effect.promise(async () => {
      const channels = await scheme.getStorage().list()
      return BigInt(channels.find((one) => one.channelId === channelId)?.chargedCumulativeAmount ?? 0)
    })
  return { ...shop, charged, claim: Effect.promise(() => manager.claimAndSettle()) }
})

/** The shops, in the order of the table. */
export const shops = {
  ours: { title: "our Koa", open: openOurs },
  peer: { title: named("@x402/express"), open: openPeer }
} as const
