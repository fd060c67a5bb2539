/** Accounts of the WDK (`@tetherto/wdk`) as payers: one seed, EVM, TON and TRON, and a `fetch` that pays from them. */
export { underPolicies } from "./PolicyGate.ts"
export type {
  EvmAccount,
  Governed,
  SafeWalletAccount,
  TonAccount,
  TransferOrder,
  TronAccount,
  WdkLike
} from "./WdkAccount.ts"
export {
  wdkBuyer,
  type AccountOptions,
  type EvmAccountOptions,
  type TonAccountOptions,
  type TronAccountOptions,
  type WdkAccounts,
  type WdkBuyer,
  type WdkBuyerOptions
} from "./WdkBuyer.ts"
export { evmSigner, safeSigner, type SafeSignerOptions, tonSigner, tronSigner } from "./WdkSigners.ts"
