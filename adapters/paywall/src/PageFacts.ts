/** The facts that the server writes into the page, and the page's script reads. */
import type { Texts } from "./texts/Texts.ts"

/** One way to pay. */
export interface PageOption {
  readonly family: "evm" | "ton" | "tron"
  readonly scheme: string
  readonly network: string
  readonly networkName: string
  readonly payTo: string
  readonly asset: string
  readonly symbol: string
  readonly decimals: number
  readonly dollar: boolean
  /** `Asset.extra`: on EVM the name and the version of the token's EIP-712 domain. */
  readonly extra: Readonly<Record<string, string>>
  /** In the smallest unit. */
  readonly amount: string
  /** In whole tokens: `0.01`. */
  readonly tokens: string
  /** Address of a transaction in a block explorer, with `{tx}` in its place; empty without one. */
  readonly explorer: string
  /** Path at the shop's origin behind which a node of the network is; empty where none is needed. */
  readonly node: string
  /** The network as an EVM wallet adds it. */
  readonly chain?: {
    readonly name: string
    readonly rpcUrls: ReadonlyArray<string>
    readonly currency: { readonly name: string; readonly symbol: string; readonly decimals: number }
  }
}

/** A TON wallet on another device. */
export interface PageTonWallet {
  readonly id: string
  readonly name: string
  readonly link: string
  /** Path at the shop's origin behind which its bridge is. */
  readonly bridge: string
}

/** A form that was sent to the address by POST. The page sends it again with the payment, or says why it does not. */
export type PageForm =
  /** The body in base64. */
  | { readonly contentType: string; readonly body: string }
  | { readonly problem: "formElsewhere" | "formTooLong" | "formUnread"; readonly limit: string }

/** The facts of one page. */
export interface PageFacts {
  readonly price: string
  readonly options: ReadonlyArray<PageOption>
  /** URL of the TON Connect manifest. */
  readonly manifestUrl: string
  readonly tonWallets: ReadonlyArray<PageTonWallet>
  readonly form?: PageForm
  readonly texts: Texts
}
