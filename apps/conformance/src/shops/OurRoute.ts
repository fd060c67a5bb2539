/**
 * How both of our shops sell the goods: to whoever speaks any of the dialects.
 */
import { mppSeller, protocolSeller, type RouteConfig, x402v1Seller, x402v2Seller } from "@pontage/core"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"

import type { ShopOptions } from "../RoleOptions.ts"

/** The secret of our shops for the binding of payments; a real shop keeps its own in its environment. */
export const secret = "a secret of at least thirty-two characters"

/** The dialects that offer every token and method. */
export const x402 = [x402v1Seller, protocolSeller, x402v2Seller]
const mpp = [mppSeller()]

/** A route at the price of the goods. */
export const routeOf = ({ binding, only, payTo, repeat, settle }: ShopOptions): RouteConfig => ({
  description: "The report",
  mimeType: "application/json",
  scheme: "exact",
  network: BaseSepolia.network,
  price: BaseSepolia.price,
  payTo,
  dialects: only === undefined ? (binding === "off" ? x402 : [...x402, ...mpp]) : mpp,
  ...(repeat !== undefined && { repeat }),
  ...(binding !== undefined && { binding }),
  ...(settle !== undefined && { settle })
})
