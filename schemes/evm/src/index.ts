/**
 * The `exact` scheme on EVM chains by EIP-3009 transfer authorizations. `exactEvm.client`, `.server` and `.facilitator` are
 * its three configurations; the modules behind them are exported for those who build on them.
 */
export { address as batchSettlerAddress, deploy as deployBatchSettler } from "./BatchSettling.ts"
export * as Eip3009 from "./Eip3009.ts"
export * as EvmAddress from "./EvmAddress.ts"
export * as EvmAsset from "./EvmAsset.ts"
export * as EvmCrypto from "./EvmCrypto.ts"
export * as EvmHex from "./EvmHex.ts"
export * as EvmNetwork from "./EvmNetwork.ts"
export * as EvmRpc from "./EvmRpc.ts"
export * as EvmSignature from "./EvmSignature.ts"
export * as EvmSigner from "./EvmSigner.ts"
export type { UnsignedTransaction } from "./Eip1559.ts"
export type { EvmTransactionSigner } from "./EvmTransactionSigner.ts"
export * as ExactEvm from "./ExactEvm.ts"
export * as exactEvm from "./ExactEvmRoles.ts"
