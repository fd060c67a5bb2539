/**
 * The local TRON chain for tests and for the devnet. Needs `@ethereumjs/evm` and its companions beside this package.
 */
export { TronBurnerToken } from "./artifacts/TronBurnerToken.ts"
export { TronDollar } from "./artifacts/TronDollar.ts"
export { TronSilentToken } from "./artifacts/TronSilentToken.ts"
export * as ChainParameters from "./ChainParameters.ts"
export * as NodeFault from "./NodeFault.ts"
export { TronDevNodeFailed } from "./NodeHttp.ts"
export * as NodeTransaction from "./NodeTransaction.ts"
export * as TronDevNode from "./TronDevNode.ts"
export * as TronTestAccounts from "./TronTestAccounts.ts"
export * as TronTestChain from "./TronTestChain.ts"
