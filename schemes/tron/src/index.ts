/**
 * The `exact` scheme on TRON by signed TRC-20 transfers. `exactTron.client`, `.server` and `.facilitator` are its three roles; the
 * modules behind them are exported for extensions.
 */
export * as ExactTron from "./payment/ExactTron.ts"
export * as exactTron from "./exact/ExactTronRoles.ts"
export * as StrictProtobuf from "./transfer/StrictProtobuf.ts"
export * as TronAddress from "./primitives/TronAddress.ts"
export * as TronAsset from "./transfer/TronAsset.ts"
export * as TronBalance from "./transfer/TronBalance.ts"
export * as TronBlocks from "./node/TronBlocks.ts"
export * as TronHex from "./primitives/TronHex.ts"
export * as TronNetwork from "./primitives/TronNetwork.ts"
export * as TronRpc from "./node/TronRpc.ts"
export * as TronSignature from "./crypto/TronSignature.ts"
export * as TronSigner from "./wallet/TronSigner.ts"
export * as TronTransaction from "./transfer/TronTransaction.ts"
