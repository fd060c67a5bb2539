/**
 * The local TON chain for tests and for the devnet. Needs `@ton/ton`, `@ton/sandbox` and their peers beside this package.
 */
export { ForeignWallet } from "./artifacts/ForeignWallet.ts"
export { LyingMinter } from "./artifacts/LyingMinter.ts"
export { SwallowingWallet } from "./artifacts/SwallowingWallet.ts"
export * as TestJetton from "./TestJetton.ts"
export * as TonBlockMaking from "./TonBlockMaking.ts"
export * as ToncenterFacade from "./ToncenterFacade.ts"
export * as ToncenterFault from "./ToncenterFault.ts"
export * as TonExecution from "./TonExecution.ts"
export * as TonLedger from "./TonLedger.ts"
export * as TonTestAccounts from "./TonTestAccounts.ts"
export * as TonTestChain from "./TonTestChain.ts"
