/**
 * The local EVM chain for tests and for the devnet. Needs `viem` and `@foundry-rs/anvil` beside this package.
 */
export * as Anvil from "./Anvil.ts"
export * as AnvilControl from "./AnvilControl.ts"
export { Delegate7702 } from "./artifacts/Delegate7702.ts"
export { DollarToken } from "./artifacts/DollarToken.ts"
export { Erc1271Wallet } from "./artifacts/Erc1271Wallet.ts"
export { FeeToken } from "./artifacts/FeeToken.ts"
export { GasBurner1271 } from "./artifacts/GasBurner1271.ts"
export { NestedWallet } from "./artifacts/NestedWallet.ts"
export { PayerSwitch } from "./artifacts/PayerSwitch.ts"
export { ReturnBomb1271 } from "./artifacts/ReturnBomb1271.ts"
export { SilentToken } from "./artifacts/SilentToken.ts"
export { SwayingWallet } from "./artifacts/SwayingWallet.ts"
export { SwitchedWallet } from "./artifacts/SwitchedWallet.ts"
export * as EvmTestAccounts from "./EvmTestAccounts.ts"
export * as EvmTestChain from "./EvmTestChain.ts"
