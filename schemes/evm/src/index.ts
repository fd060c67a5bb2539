/**
 * The `exact` scheme on EVM chains: EIP-3009 transfer authorizations, offline and on chain.
 */
export * as Eip3009 from "./Eip3009.ts"
export * as EvmAddress from "./EvmAddress.ts"
export * as EvmHex from "./EvmHex.ts"
export * as EvmJsonRpc from "./EvmJsonRpc.ts"
export * as EvmNodeRefusal from "./EvmNodeRefusal.ts"
export * as EvmRevert from "./EvmRevert.ts"
export * as EvmRpc from "./EvmRpc.ts"
export * as EvmSignature from "./EvmSignature.ts"
export * as SignatureRecovery from "./SignatureRecovery.ts"
