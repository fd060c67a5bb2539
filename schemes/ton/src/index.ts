/**
 * The `exact` scheme on TON by signed Jetton transfers that a facilitator relays. `exactTon.client`, `.server` and
 * `.facilitator` are its three configurations; the modules behind them are exported for those who build on them.
 */
export * as Ed25519 from "./crypto/Ed25519.ts"
export * as ExactTon from "./payment/ExactTon.ts"
export type { TonExpense } from "./evidence/TonExpenses.ts"
export * as exactTon from "./exact/ExactTonRoles.ts"
export * as JettonTransfer from "./transfer/JettonTransfer.ts"
export * as TonAddress from "./primitives/TonAddress.ts"
export * as TonAsset from "./transfer/TonAsset.ts"
export * as TonAuthorization from "./payment/TonAuthorization.ts"
export * as TonBoc from "./primitives/TonBoc.ts"
export type { TonEmulation } from "./transfer/TonEmulation.ts"
export * as TonJettons from "./transfer/TonJettons.ts"
export * as TonMessage from "./primitives/TonMessage.ts"
export * as TonNetwork from "./primitives/TonNetwork.ts"
export * as TonPayer from "./payment/TonPayer.ts"
export * as TonRpc from "./node/TonRpc.ts"
export type * as TonSigner from "./wallet/TonSigner.ts"
export * as TonWallet from "./wallet/TonWallet.ts"
export * as WalletRequest from "./wallet/WalletRequest.ts"
