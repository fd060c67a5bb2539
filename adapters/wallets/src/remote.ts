/** A TON wallet on another device, by TON Connect's HTTP bridge. Apart from the rest, because of the size of its cryptography. */
import { RemoteBridge, type RemoteBridgeOptions } from "./ton/remote/RemoteBridge.ts"
import * as TonWallet from "./ton/TonWallet.ts"
import type { TonWalletSigner, Wallet } from "./Wallet.ts"
import { iconOf, nameOf } from "./WalletText.ts"

export type { RemoteBridgeOptions } from "./ton/remote/RemoteBridge.ts"
export type { SessionStore } from "./ton/remote/SessionStore.ts"

/** Options of `remoteTonWallet`. */
export interface RemoteTonWalletOptions extends RemoteBridgeOptions {
  /** The wallet's key in the list of wallets, such as `tonkeeper`. */
  readonly id: string
  /** Its name for people. */
  readonly name: string
  /** A `data:` URI of an image. */
  readonly icon?: string
}

/** A wallet that is reached over a bridge. */
export interface RemoteTonWallet extends Wallet<"ton", TonWalletSigner> {
  /** Ends the session on both ends. */
  readonly disconnect: () => Promise<void>
  /** Forgets the session, and closes the connection to the bridge. */
  readonly close: () => void
}

/**
 * The wallet behind a bridge. It gets no request before `connect`; a stored session at this bridge is used again without asking its
 * owner. Throws a `WalletError` if `bridge` or `universalLink` is no address that a page may use.
 */
export const remoteTonWallet = ({ icon, id, name, ...options }: RemoteTonWalletOptions): RemoteTonWallet => {
  const bridge = new RemoteBridge(options)
  const facts = { id, name: nameOf(name, id), icon: iconOf(icon), features: undefined }
  return {
    ...TonWallet.make(facts, bridge),
    disconnect: () => bridge.disconnect(),
    close: () => bridge.close()
  }
}
