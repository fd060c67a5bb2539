/** The scheme client of a TON option. */
import type { SchemeClient } from "@pontage/core"
import { client } from "@pontage/ton/client"
import type { TonWalletSigner } from "@pontage/wallets"

import type { PageOption } from "../../PageFacts.ts"

export const schemeFor = (option: PageOption, signer: TonWalletSigner): SchemeClient => {
  const { asset: address, decimals, dollar, network, node, symbol } = option
  const rpcUrl = new URL(node, location.origin).href
  return client({ signer, network, rpcUrl, assets: [{ network, address, symbol, decimals, dollar }] })
}
