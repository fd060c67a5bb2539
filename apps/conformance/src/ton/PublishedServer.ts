/** A resource server of x402's mechanism for TON, from the published specification: prices in units of a Jetton. */
import { beginCell } from "@ton/core"
import type { SchemeNetworkServer } from "@x402/core/types"

const zeroBit = beginCell().storeBit(0).endCell().toBoc().toString("base64")

/** The scheme for x402's resource server. */
export const scheme: SchemeNetworkServer = {
  scheme: "exact",
  defaultAssetTransferMethod: "default",
  paymentFlows: { default: { supported: ["authorization"], default: "authorization" } },
  parsePrice: async (price) => {
    if (typeof price !== "object") throw new Error("the price is in units of a Jetton")
    return { amount: price.amount, asset: price.asset, extra: price.extra ?? {} }
  },
  enhancePaymentRequirements: async (requirements, { extra }) => ({
    ...requirements,
    extra: {
      areFeesSponsored: extra?.["areFeesSponsored"] ?? true,
      forwardPayload: zeroBit,
      forwardTonAmount: "0",
      ...requirements.extra
    }
  })
}
