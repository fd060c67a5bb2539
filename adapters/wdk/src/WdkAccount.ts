/**
 * The used part of the WDK (`@tetherto/wdk`) as structures: its package is an optional peer, and every version with these members
 * fits. The names are those of `IWalletAccount` and of the wallets `wdk-wallet-evm`, `wdk-wallet-ton` and `wdk-wallet-tron`.
 */
import type { SafeAccount } from "@pontage/evm/client"
import type { TronSigner } from "@pontage/tron/client"
import * as Predicate from "effect/Predicate"

/** A WDK: it holds the seed and makes accounts of the wallets that were registered. */
export interface WdkLike {
  /** The account of a registered wallet by its index, with the WDK's policies around it. */
  getAccount(wallet: string, index?: number): Promise<unknown>
  /** The account by its path below the wallet's own, such as `0'/0/0`. */
  getAccountByPath(wallet: string, path: string): Promise<unknown>
}

/** An account of `wdk-wallet-evm`. */
export interface EvmAccount {
  getAddress(): Promise<string>
  /** The primary type is found from `types`, which must not name `EIP712Domain`. */
  signTypedData(data: Omit<SafeAccount.OwnersData, "primaryType">): Promise<string>
}

/**
 * An account of `wdk-wallet-evm-erc-4337`: a Safe of the key's owner. It signs typed data as the owner, who is not the account.
 */
export interface SafeWalletAccount extends EvmAccount {
  /** `publicKey` is the owner's, 33 or 65 bytes. */
  readonly keyPair: { readonly publicKey: Uint8Array }
}

/** An account of `wdk-wallet-ton`, a W5 wallet. It signs nothing that it does not send, so its key is used. */
export interface TonAccount extends Partial<Governed> {
  getAddress(): Promise<string>
  /** `privateKey` is the seed and the public key, 64 bytes; absent once the account is disposed of. */
  readonly keyPair: { readonly publicKey: Uint8Array; readonly privateKey?: Uint8Array | null }
}

/** An account of `wdk-wallet-tron`. It signs a prepared transaction without a node. */
export interface TronAccount {
  getAddress(): Promise<string>
  signTransaction(transaction: Parameters<TronSigner.TronSigner["signTransaction"]>[0]): Promise<unknown>
}

/** An account under policies of the WDK: it tells what they would decide. */
export interface Governed {
  readonly simulate: {
    transfer(order: TransferOrder): Promise<{
      readonly decision: string
      readonly policy_id?: string | null
      readonly reason?: string | null
    }>
  }
}

/** The parameters of a WDK account's `transfer`; the amount is in the token's smallest unit. */
export interface TransferOrder {
  readonly token: string
  readonly recipient: string
  readonly amount: bigint
}

const hasAll = (value: unknown, ...members: ReadonlyArray<string>): boolean =>
  members.every((member) => Predicate.hasProperty(value, member))

/** Whether a value has the members of an EVM account. */
export const isEvmAccount = (value: unknown): value is EvmAccount => hasAll(value, "getAddress", "signTypedData")

/** Whether an EVM account shows the public key of its owner. */
export const hasOwnersKey = (account: EvmAccount): account is SafeWalletAccount =>
  Predicate.hasProperty(account, "keyPair") &&
  Predicate.hasProperty(account.keyPair, "publicKey") &&
  account.keyPair.publicKey instanceof Uint8Array

/** Whether a value has the members of a TON account. */
export const isTonAccount = (value: unknown): value is TonAccount => hasAll(value, "getAddress", "keyPair")

/** Whether a value has the members of a TRON account. */
export const isTronAccount = (value: unknown): value is TronAccount => hasAll(value, "getAddress", "signTransaction")
