/**
 * A buyer with the WDK: one seed, an account on each of three chain families, and a `fetch` that pays from them.
 */
import { wdkBuyer } from "@pontage/wdk"
import WDK from "@tetherto/wdk"
import WalletManagerEvm from "@tetherto/wdk-wallet-evm"
import WalletManagerTon from "@tetherto/wdk-wallet-ton"
import WalletManagerTron from "@tetherto/wdk-wallet-tron"

interface Settings {
  readonly seedPhrase: string
  readonly evm: { readonly network: string }
  readonly ton: { readonly network: string; readonly rpcUrl: string }
  readonly tron: { readonly network: string; readonly rpcUrl: string }
}

/** The beta packages are typed by different versions of each other, so TypeScript takes none of these managers for one. */
interface Wallets {
  registerWallet(name: string, manager: unknown, config: object): Wallets
}

export const open = async ({ evm, seedPhrase, ton, tron }: Settings) => {
  const wdk = new WDK(seedPhrase)
  const wallets: Wallets = wdk
  wallets.registerWallet("ethereum", WalletManagerEvm, {})
  wallets.registerWallet("ton", WalletManagerTon, {})
  wallets.registerWallet("tron", WalletManagerTron, { provider: tron.rpcUrl })
  const pay = await wdkBuyer(wdk, {
    limits: { perRequest: "$0.05", perDay: "$2" },
    accounts: {
      evm: { wallet: "ethereum", ...evm }, // "eip155:8453", or nothing for every EVM network
      ton: { wallet: "ton", ...ton }, // "ton:mainnet", "https://toncenter.com/api/v2/jsonRPC"
      tron: { wallet: "tron", ...tron } // "tron:mainnet"
    }
  })
  return { wdk, pay }
}
