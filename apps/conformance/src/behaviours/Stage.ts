import * as BaseSepoliaChain from "@pontage/devnet/BaseSepoliaChain"
/**
 * Where behaviours are looked at: a chain, our facilitator and the peer's, each behind a front, and shops that are opened
 * for one look. The peers' shops are at their facilitator, ours at either.
 */
import * as Effect from "effect/Effect"

import type { Buy } from "../buyers/Buyer.ts"
import * as SignedPayment from "../buyers/SignedPayment.ts"
import { type BuyerName, buyers, type FacilitatorName, facilitators, type ShopName, shops } from "../matrix/Parties.ts"
import type { ShopOptions } from "../RoleOptions.ts"
import type { Path, Shop } from "../shops/Goods.ts"
import { untilOnSale } from "../shops/OnSale.ts"
import * as Front from "./Front.ts"

/** A shop whose behaviours are compared, and whose facilitator it is at. */
export interface Compared {
  readonly title: string
  readonly shop: Extract<ShopName, "koa" | "nest" | "peer" | "legacy">
  readonly facilitator: Extract<FacilitatorName, "ours" | "peer">
}

/** They, in the order of the table. */
export const compared: ReadonlyArray<Compared> = [
  { title: shops.koa.title, shop: "koa", facilitator: "ours" },
  { title: shops.nest.title, shop: "nest", facilitator: "ours" },
  { title: `${shops.koa.title}, their facilitator`, shop: "koa", facilitator: "peer" },
  { title: shops.peer.title, shop: "peer", facilitator: "peer" },
  { title: shops.legacy.title, shop: "legacy", facilitator: "peer" }
]

/** Everything that is set up. */
export interface Stage {
  readonly chain: BaseSepoliaChain.BaseSepoliaChain
  /** The front of the facilitator of a shop. */
  readonly front: (shop: Compared) => Front.Front
  /** The number of mined transactions of a shop's facilitator. */
  readonly transactions: (shop: Compared) => Effect.Effect<number>
}

/** Sets it up as long as the scope. */
export const make = Effect.gen(function* () {
  const chain = yield* BaseSepoliaChain.make
  const { accounts, client, rpcUrl } = chain.node
  const [ourSigner, peerSigner] = accounts.signers
  const own = yield* facilitators.ours.start({ rpcUrl, key: ourSigner.privateKey })
  // As their example numbers transactions: viem's counter leaves a gap where one is refused, for which later ones wait.
  const peers = yield* facilitators.peer.start({
    rpcUrl,
    key: peerSigner.privateKey,
    nonces: "asked",
    pollingMillis: 20
  })
  const ours = { front: yield* Front.make(own.url), signer: ourSigner.address }
  const theirs = { front: yield* Front.make(peers.url), signer: peerSigner.address }
  const side = ({ facilitator }: Compared) => (facilitator === "ours" ? ours : theirs)
  const stage: Stage = {
    chain,
    front: (shop) => side(shop).front,
    transactions: (shop) => Effect.promise(() => client.getTransactionCount({ address: side(shop).signer }))
  }
  return stage
})

/** Whether a shop is one of ours. */
export const isOurs = ({ shop }: Compared): boolean => shop === "koa" || shop === "nest"

/** The peers' own buyer for a shop: the newer one where both versions are spoken. */
export const peerBuyer = ({ shop }: Compared): BuyerName => (shop === "legacy" ? "legacy" : "peer")

/** A shop, a buyer, and the chain's facts about them. */
export interface Scene extends Shop {
  /** Buys, over this `fetch`. */
  readonly buyOver: (send: typeof fetch) => Buy
  /** Signs a payment for one of the goods. */
  readonly sign: (path: Path) => Effect.Effect<SignedPayment.SignedPayment>
  /** Sends a payment for one of the goods. */
  readonly send: (path: Path, payment: SignedPayment.SignedPayment) => Effect.Effect<SignedPayment.Answer>
  /** The number of transfers from the payer. */
  readonly transfers: Effect.Effect<number>
}

/** Opens a shop for a buyer. */
export const open = Effect.fnUntraced(function* (
  { chain, front }: Stage,
  compared: Compared,
  buyer: BuyerName,
  more: Pick<ShopOptions, "binding" | "settle"> = {}
) {
  const { accounts, rpcUrl } = chain.node
  const told = { facilitator: front(compared).url, rpcUrl, payTo: accounts.payee.address, ...more }
  const shop = yield* Effect.orDie(shops[compared.shop].start(told))
  yield* untilOnSale(shop.url)
  const payer = yield* chain.payer
  const at = (path: Path) => `${shop.url}${path}`
  const scene: Scene = {
    ...shop,
    buyOver: (send) => buyers[buyer].start({ key: payer.key, rpcUrl, send }),
    sign: (path) => Effect.promise(() => SignedPayment.sign(buyers[buyer].start, payer, rpcUrl, at(path))),
    send: (path, payment) => Effect.promise(() => SignedPayment.send(at(path), payment)),
    transfers: Effect.map(chain.spent(payer.address), ({ length }) => length)
  }
  return scene
})
