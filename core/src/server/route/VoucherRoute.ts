/** The shop's own route that takes the vouchers of metered streams: it sells nothing, and runs no handler. */
import * as SellerDialects from "../../wire/SellerDialects.ts"
import type * as Shop from "../shop/Shop.ts"
import type { PricedRoute } from "./PricedRoute.ts"

/** The key of the route. */
export const keyOf = ({ voucherPath }: Pick<Shop.Shop, "voucherPath">): string => `POST ${voucherPath}`

/** The path of the route. */
export const pathOf = ({ name }: Pick<PricedRoute, "name">): string => name.slice(name.indexOf(" ") + 1)

/** Makes the route. */
export const make = (shop: Pick<Shop.Shop, "voucherPath">): PricedRoute => ({
  name: keyOf(shop),
  takesVouchers: true,
  settle: "before-handler",
  serve: "departed",
  binding: "off",
  cache: "no-store",
  description: undefined,
  mimeType: undefined,
  input: undefined,
  output: undefined,
  listed: false,
  maxTimeoutSeconds: longestSeconds,
  priceTimeoutMillis: 1,
  refused: "charged",
  bind: "none",
  repeat: "none",
  receipt: "none",
  signedOffers: false,
  validate: undefined,
  charge: undefined,
  resource: undefined,
  dialects: SellerDialects.usual,
  options: [],
  price: []
})

/** A deposit may wait for its block as long as that. */
const longestSeconds = 3_600
