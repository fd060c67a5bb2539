/**
 * The `exact` scheme on TON by signed Jetton transfers that a facilitator relays. `exactTon.client`, `.server` and
 * `.facilitator` are its three configurations; the modules behind them are exported for those who build on them.
 */
export * as Ed25519 from "./Ed25519.ts"
export * as ExactTon from "./ExactTon.ts"
export type { TonExpense } from "./TonBooks.ts"
export * as exactTon from "./ExactTonRoles.ts"
export * as JettonTransfer from "./JettonTransfer.ts"
export * as TonAddress from "./TonAddress.ts"
export * as TonAsset from "./TonAsset.ts"
export * as TonAuthorization from "./TonAuthorization.ts"
export * as TonBoc from "./TonBoc.ts"
export type { TonEmulation } from "./TonEmulation.ts"
export * as TonMessage from "./TonMessage.ts"
export * as TonNetwork from "./TonNetwork.ts"
export * as TonPayer from "./TonPayer.ts"
export * as TonRpc from "./TonRpc.ts"
export type * as TonSigner from "./TonSigner.ts"
export * as TonWallet from "./TonWallet.ts"
export * as WalletRequest from "./WalletRequest.ts"
