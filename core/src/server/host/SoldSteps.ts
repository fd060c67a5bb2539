/** A shop whose routes are sold one by one, for hosts in which a step stands in front of a route's handler. */
import { Misconfigured } from "../../protocol/ProtocolError.ts"
import type { PricedRoute } from "../route/PricedRoute.ts"
import type { RouteConfig } from "../route/RouteConfig.ts"
import * as Seller from "../Seller.ts"
import type { OpenShop } from "./SoldRoutes.ts"

/** The shop; `Step` is the host's kind of middleware. */
export interface SoldSteps<Step> extends OpenShop {
  /**
   * A step in front of a route's handler, as the adapter's README shows it. All following middleware belongs to the paid
   * resource. Messages call the route `name`. Throws `Misconfigured`.
   */
  readonly paid: (config: RouteConfig, name?: string) => Step
  /**
   * The step that takes the vouchers of metered routes, for `POST` at the shop's `voucherPath`: it answers every request itself. Throws
   * `Misconfigured` while no route is metered.
   */
  readonly vouchers: () => Step
}

/** Opens a shop; `stepFor` makes the step of a route. Throws `Misconfigured` for a mistake in the options. */
export const open = <Step>(
  options: Seller.SellerOptions,
  stepFor: (seller: Seller.Seller, route: PricedRoute) => Step,
  abilities?: Seller.HostAbilities
): SoldSteps<Step> => {
  const seller = Seller.make(options, abilities)
  let count = 0
  return {
    vouchers: () => stepFor(seller, vouchersOf(seller)),
    paid: (config, name = `paid route ${++count}`) => stepFor(seller, seller.route(name, config)),
    ready: () => seller.ready(),
    close: () => seller.close()
  }
}

/** The route of the vouchers. Throws `Misconfigured` while no route is metered. */
export const vouchersOf = (seller: Seller.Seller): PricedRoute => {
  const route = seller.vouchers()
  if (route !== undefined) return route
  throw new Misconfigured({ message: "vouchers: no route is metered; sell one first, or leave the step out" })
}
