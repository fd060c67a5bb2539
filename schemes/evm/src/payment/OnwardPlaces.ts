/** The places where offers say that their money arrives on another network, by a bridge or from an operator's inventory. */
import type { OnwardPlace, PaymentRequirements } from "@pontage/core"

import * as InventoryTerms from "./InventoryTerms.ts"
import * as RouteTerms from "./RouteTerms.ts"

/** The place; `undefined` where the money stays on the offer's network, or where the terms cannot be read. */
export const of = (requirements: PaymentRequirements.PaymentRequirements): OnwardPlace | undefined => {
  const { extra = {} } = requirements
  const terms = InventoryTerms.isInventory(requirements)
    ? InventoryTerms.read(extra["inventory"])
    : RouteTerms.isRouted(requirements) && RouteTerms.read(extra["route"])
  if (typeof terms !== "object") return undefined
  const { asset, network, payTo } = terms
  return { asset, network, payTo }
}
