/**
 * The first peer's Express middleware with the other peer's scheme class in it, and beside it what that class has not: which
 * ways of transfer there are.
 */
import { ExactEvmScheme } from "@t402/evm/exact/server"
import type { SchemeNetworkServer } from "@x402/core/types"
import { ExactEvmScheme as Complete } from "@x402/evm/exact/server"

import type { ShopOptions } from "../RoleOptions.ts"
import { open } from "./PeerExpressShop.ts"

/** Opens it as long as the scope. */
export const start = (options: ShopOptions) => open(options, completed(new ExactEvmScheme()))

const completed = (scheme: ExactEvmScheme): SchemeNetworkServer => {
  const { defaultAssetTransferMethod, paymentFlows } = new Complete()
  return {
    scheme: scheme.scheme,
    defaultAssetTransferMethod,
    paymentFlows,
    parsePrice: (price, network) => scheme.parsePrice(price, network),
    enhancePaymentRequirements: ({ ...requirements }, { x402Version, ...kind }, extensions) =>
      scheme.enhancePaymentRequirements(requirements, { ...kind, t402Version: x402Version }, extensions)
  }
}
