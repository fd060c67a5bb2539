/**
 * Everybody who takes part, by role.
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import type { Buyer } from "./Buyer.ts"
import type { Shop } from "./Goods.ts"
import * as LegacyBuyer from "./LegacyBuyer.ts"
import * as LegacyExpressShop from "./LegacyExpressShop.ts"
import * as LegacyFacilitator from "./LegacyFacilitator.ts"
import * as OurBuyer from "./OurBuyer.ts"
import * as OurFacilitator from "./OurFacilitator.ts"
import * as OurKoaShop from "./OurKoaShop.ts"
import * as OurNestShop from "./OurNestShop.ts"
import * as PeerBuyer from "./PeerBuyer.ts"
import * as PeerExpressShop from "./PeerExpressShop.ts"
import * as PeerFacilitator from "./PeerFacilitator.ts"
import { named } from "./PeerVersions.ts"
import type { FacilitatorOptions, ShopOptions } from "./RoleOptions.ts"
import * as T402Buyer from "./T402Buyer.ts"
import * as T402Facilitator from "./T402Facilitator.ts"
import * as T402SchemeBuyer from "./T402SchemeBuyer.ts"
import * as T402SchemeFacilitator from "./T402SchemeFacilitator.ts"
import * as T402SchemeShop from "./T402SchemeShop.ts"
import * as T402Shop from "./T402Shop.ts"

/** A party of one role: as the tables call it, and how it is started. */
export interface Party<Start> {
  readonly title: string
  readonly start: Start
}

/** Starts a facilitator as long as the scope. */
export type StartFacilitator = (
  options: FacilitatorOptions
) => Effect.Effect<{ readonly url: string }, unknown, Scope.Scope>

/** Opens a shop as long as the scope. */
export type StartShop = (options: ShopOptions) => Effect.Effect<Shop, unknown, Scope.Scope>

const party = <Start>(title: string, start: Start): Party<Start> => ({ title, start })

/** Who buys. */
export const buyers = {
  ours: party<Buyer>("our client", OurBuyer.make),
  peer: party<Buyer>(named("@x402/fetch"), PeerBuyer.make),
  legacy: party<Buyer>(named("x402-fetch"), LegacyBuyer.make),
  t402: party<Buyer>(named("@t402/core"), T402Buyer.make),
  t402Scheme: party<Buyer>(`${named("@t402/evm")} in @x402/core`, T402SchemeBuyer.make)
}

/** Who sells. */
export const shops = {
  koa: party<StartShop>("our Koa", OurKoaShop.start),
  nest: party<StartShop>("our NestJS", OurNestShop.start),
  peer: party<StartShop>(named("@x402/express"), PeerExpressShop.start),
  legacy: party<StartShop>(named("x402-express"), LegacyExpressShop.start),
  t402: party<StartShop>(named("@t402/core"), T402Shop.start),
  t402Scheme: party<StartShop>(`${named("@t402/evm")} in @x402/core`, T402SchemeShop.start)
}

/** Who settles. */
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
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  Object.keys(parties) as Array<Name>

/** Their names, in the order of the tables. */
export const buyerNames = namesOf(buyers)
export const shopNames = namesOf(shops)
export const facilitatorNames = namesOf(facilitators)
