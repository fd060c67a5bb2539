/** A TON wallet on another device, as one to choose. The code that reaches it is loaded once it is chosen. */
import type { AnyWallet } from "@pontage/wallets"

import type { PageTonWallet } from "../PageFacts.ts"

/** The wallet. */
export const of = (wallet: PageTonWallet): AnyWallet => ({
  family: "ton",
  id: wallet.id,
  name: wallet.name,
  icon: undefined,
  features: ["sign"],
  connect: async (network, options = {}) => (await import("./RemoteSession.ts")).connect(wallet, network, options)
})
