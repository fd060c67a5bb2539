/** The scheme client of an EVM option. */
import type { SchemeClient } from "@pontage/core"
import { signerClient } from "@pontage/evm/client"
import type { EvmWalletSigner } from "@pontage/wallets"

import type { PageOption } from "../../PageFacts.ts"

export const schemeFor = (option: PageOption, signer: EvmWalletSigner): SchemeClient => {
  const { asset: address, decimals, dollar, extra, network, symbol } = option
  const { name, version } = extra
  const own = { network, address, symbol, decimals, dollar }
  const asset = name === undefined || version === undefined ? own : { ...own, name, version }
  return signerClient({ signer, network, assets: [asset] })
}
