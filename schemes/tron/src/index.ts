/**
 * The `exact` scheme on TRON by signed TRC-20 transfers. `exactTron.client`, `.server` and `.facilitator` are its three
 * configurations; the modules behind them are exported for those who build on them.
 */
export * as ExactTron from "./ExactTron.ts"
export * as exactTron from "./ExactTronRoles.ts"
export * as StrictProtobuf from "./StrictProtobuf.ts"
export * as TronAddress from "./TronAddress.ts"
export * as TronAsset from "./TronAsset.ts"
export * as TronBlocks from "./TronBlocks.ts"
export * as TronHex from "./TronHex.ts"
export * as TronNetwork from "./TronNetwork.ts"
export * as TronRpc from "./TronRpc.ts"
export * as TronSignature from "./TronSignature.ts"
export * as TronSigner from "./TronSigner.ts"
export * as TronTransaction from "./TronTransaction.ts"
