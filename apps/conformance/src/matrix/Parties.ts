/**
 * Everybody who takes part, by role.
 */
import type { Buyer, ReadReceipt } from "../buyers/Buyer.ts"
import * as LegacyBuyer from "../buyers/LegacyBuyer.ts"
import * as OurBuyer from "../buyers/OurBuyer.ts"
import * as PeerBuyer from "../buyers/PeerBuyer.ts"
import * as T402Buyer from "../buyers/T402Buyer.ts"
import * as T402SchemeBuyer from "../buyers/T402SchemeBuyer.ts"
import * as LegacyFacilitator from "../facilitators/LegacyFacilitator.ts"
import * as OurFacilitator from "../facilitators/OurFacilitator.ts"
import * as PeerFacilitator from "../facilitators/PeerFacilitator.ts"
import * as T402Facilitator from "../facilitators/T402Facilitator.ts"
import * as T402SchemeFacilitator from "../facilitators/T402SchemeFacilitator.ts"
import { named } from "../PeerVersions.ts"
import type { StartFacilitator, StartShop } from "../RoleOptions.ts"
import * as LegacyExpressShop from "../shops/LegacyExpressShop.ts"
import * as OurKoaShop from "../shops/OurKoaShop.ts"
import * as OurNestShop from "../shops/OurNestShop.ts"
import * as PeerExpressShop from "../shops/PeerExpressShop.ts"
import * as PeerHonoShop from "../shops/PeerHonoShop.ts"
import * as T402SchemeShop from "../shops/T402SchemeShop.ts"
import * as T402Shop from "../shops/T402Shop.ts"

/** A party of one role: as the tables call it, and how it is started. */
export interface Party<Start> {
  readonly title: string
  readonly start: Start
}

const party = <Start>(title: string, start: Start): Party<Start> => ({ title, start })

/** A buyer, which can also read the receipts it gets. */
export interface BuyingParty extends Party<Buyer> {
  readonly receiptOf: ReadReceipt
}

const buying = (title: string, start: Buyer, receiptOf: ReadReceipt): BuyingParty => ({ title, start, receiptOf })

/** The buyers. */
export const buyers = {
  ours: buying("our client", OurBuyer.make, OurBuyer.receiptOf),
  peer: buying(named("@x402/fetch"), PeerBuyer.make, PeerBuyer.receiptOf),
  legacy: buying(named("x402-fetch"), LegacyBuyer.make, LegacyBuyer.receiptOf),
  t402: buying(named("@t402/core"), T402Buyer.make, T402Buyer.receiptOf),
  t402Scheme: buying(`${named("@t402/evm")} in @x402/core`, T402SchemeBuyer.make, PeerBuyer.receiptOf)
}

/** The shops. */
export const shops = {
  koa: party<StartShop>("our Koa", OurKoaShop.start),
  nest: party<StartShop>("our NestJS", OurNestShop.start),
  peer: party<StartShop>(named("@x402/express"), PeerExpressShop.start),
  hono: party<StartShop>(named("@x402/hono"), PeerHonoShop.start),
  legacy: party<StartShop>(named("x402-express"), LegacyExpressShop.start),
  t402: party<StartShop>(named("@t402/core"), T402Shop.start),
  t402Scheme: party<StartShop>(`${named("@t402/evm")} in @x402/core`, T402SchemeShop.start)
}

/** The facilitators. */
export const facilitators = {
  ours: party<StartFacilitator>("our facilitator", OurFacilitator.start),
  peer: party<StartFacilitator>(named("@x402/core"), PeerFacilitator.start),
  legacy: party<StartFacilitator>(named("x402"), LegacyFacilitator.start),
  t402: party<StartFacilitator>(named("@t402/core"), T402Facilitator.start),
  t402Scheme: party<StartFacilitator>(`${named("@t402/evm")} in @x402/core`, T402SchemeFacilitator.start)
}

/** The parties of each role. */
export type BuyerName = keyof typeof buyers
export type ShopName = keyof typeof shops
export type FacilitatorName = keyof typeof facilitators

const namesOf = <Name extends string>(parties: Readonly<Record<Name, unknown>>): ReadonlyArray<Name> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a literal are its names; the type does not say so
  Object.keys(parties) as Array<Name>

/** Their names, in the order of the tables. */
export const buyerNames = namesOf(buyers)
export const shopNames = namesOf(shops)
export const facilitatorNames = namesOf(facilitators)
