/** The scheme client of a TRON option. */
import type { SchemeClient } from "@pontage/core"
import { client } from "@pontage/tron/client"
import type { TronWalletSigner } from "@pontage/wallets"

import type { PageOption } from "../../PageFacts.ts"

export const schemeFor = (option: PageOption, signer: TronWalletSigner): SchemeClient => {
  const { asset: address, decimals, dollar, network, node, symbol } = option
  const rpcUrl = new URL(node, location.origin).href
  return client({ signer, network, rpcUrl, assets: [{ network, address, symbol, decimals, dollar }] })
}
