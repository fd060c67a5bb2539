/** Browser wallets that sign payments: found in the page, connected, and given as signers of `@pontage/evm`, `ton` and `tron`. */
export { discover, type DiscoverOptions } from "./Discovery.ts"
export {
  type AnyWallet,
  type Change,
  type Connection,
  type ConnectOptions,
  type EvmChain,
  type EvmWalletSigner,
  type Family,
  type Feature,
  type TonWalletSigner,
  type TronSigned,
  type TronWalletSigner,
  type TypedData,
  type Wallet,
  WalletError,
  type WalletReason
} from "./Wallet.ts"
