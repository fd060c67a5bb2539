/** The one shape of browser wallets, whatever their chain family and their protocol. */

/** A chain family. */
export type Family = "evm" | "ton" | "tron"

/** Abilities that wallets differ in: to sign what is asked for, and to change or add a network. */
export type Feature = "sign" | "switchNetwork" | "addNetwork"

/**
 * A wallet that was found in the page, or is reached from it. Before `connect` its owner sees no request: discovery asks wallets to
 * announce themselves, and reads what they say of themselves.
 */
export interface Wallet<F extends Family, Signer> {
  readonly family: F
  /** The same in each visit: the reverse domain name or key by which the wallet announces itself. */
  readonly id: string
  /** The wallet's own name for itself: at most 64 characters, without control characters. Show it as text. */
  readonly name: string
  /** A `data:` URI of an image; `undefined` where the wallet has none, or one that a page would have to load. */
  readonly icon: string | undefined
  /** Without `sign` the wallet cannot pay: `connect` rejects with the reason `unsupported`. */
  readonly features: ReadonlyArray<Feature>
  /**
   * Asks the owner for an account on this network (CAIP-2: `eip155:8453`, `ton:mainnet`, `tron:mainnet`), and changes the wallet's
   * network where that is needed. Rejects with `WalletError`.
   */
  readonly connect: (network: string, options?: ConnectOptions) => Promise<Connection<Signer>>
}

/** An account whose owner has agreed. */
export interface Connection<Signer> {
  readonly address: string
  readonly network: string
  /** Rejects with the reason `changed` once the wallet has another account or network than at `connect`. */
  readonly signer: Signer
  /** Calls the listener at each change in the wallet, until the returned function is called. */
  readonly onChange: (listener: (change: Change) => void) => () => void
}

/** A change that ends a connection's use until it is made again. */
export type Change = "account" | "network" | "disconnect"

/** Facts that some wallets need. */
export interface ConnectOptions {
  /** A network that an EVM wallet may not know yet (EIP-3085). */
  readonly chain?: EvmChain
  /** URL of the application's TON Connect manifest; the wallet reads its name and icon there. */
  readonly manifestUrl?: string
}

/** A network for `wallet_addEthereumChain` (EIP-3085). */
export interface EvmChain {
  readonly name: string
  readonly rpcUrls: ReadonlyArray<string>
  readonly currency: { readonly name: string; readonly symbol: string; readonly decimals: number }
  readonly explorers?: ReadonlyArray<string>
}

/** Reasons of a `WalletError`. */
export type WalletReason =
  /** The owner declined. */
  | "rejected"
  /** Another request of this page is open in the wallet. */
  | "busy"
  /** The wallet is locked, or shows no account. */
  | "locked"
  /** The wallet cannot do what is asked: no `signMessage`, another version of the contract, no such network. */
  | "unsupported"
  /** The wallet stays on another network. */
  | "wrong_network"
  /** The account or the network changed after `connect`. */
  | "changed"
  /** The wallet failed, or returned something else than its protocol says. */
  | "failed"

/** A wallet that did not do what was asked. Nothing was signed. */
export class WalletError extends Error {
  readonly _tag = "WalletError"
  override readonly name = "WalletError"
  readonly reason: WalletReason

  constructor(reason: WalletReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/** Signs EIP-712 typed data: an `EvmSigner` of `@pontage/evm`. */
export interface EvmWalletSigner {
  readonly address: string
  readonly signTypedData: (data: TypedData) => Promise<string>
}

/** EIP-712 typed data; its domain has a name, a version, a chain id and a contract. */
export interface TypedData {
  readonly domain: object
  readonly types: Readonly<Record<string, ReadonlyArray<{ readonly name: string; readonly type: string }>>>
  readonly primaryType: string
  readonly message: object
}

/** Signs a message for another account to send: a `TonMessageSigner` of `@pontage/ton`. */
export interface TonWalletSigner {
  readonly address: string
  readonly signMessage: (order: object) => Promise<{ readonly internalBoc: string }>
}

/** Signs transactions: a `TronSigner` of `@pontage/tron`, which checks what comes back. */
export interface TronWalletSigner {
  readonly address: string
  readonly signTransaction: (transaction: object) => Promise<TronSigned>
}

/** A transaction of TRON with its signature. */
export interface TronSigned {
  readonly raw_data_hex: string
  readonly signature: ReadonlyArray<string>
}

/** A wallet of any family. */
export type AnyWallet =
  | Wallet<"evm", EvmWalletSigner>
  | Wallet<"ton", TonWalletSigner>
  | Wallet<"tron", TronWalletSigner>
