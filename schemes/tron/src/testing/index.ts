/**
 * The local TRON chain for tests and for the devnet. Needs `@ethereumjs/evm` and its companions beside this package.
 */
export { TronBurnerToken } from "./artifacts/TronBurnerToken.ts"
export { TronDollar } from "./artifacts/TronDollar.ts"
export { TronSilentToken } from "./artifacts/TronSilentToken.ts"
export * as ChainParameters from "./ledger/ChainParameters.ts"
export * as NodeFault from "./node/NodeFault.ts"
export { TronDevNodeFailed } from "./node/NodeHttp.ts"
export * as NodeTransaction from "./node/NodeTransaction.ts"
export * as TronDevNode from "./TronDevNode.ts"
export * as TronTestAccounts from "./TronTestAccounts.ts"
export * as TronTestChain from "./TronTestChain.ts"
