/** Two local chains with LayerZero or CCTP between them, for tests and demonstrations of payments that go on to another network. */
export * as BridgedChains from "./BridgedChains.ts"
export * as CctpChains from "./CctpChains.ts"
export * as DevBridge from "./DevBridge.ts"
export * as LayerZeroExecutor from "./LayerZeroExecutor.ts"
export * as LayerZeroInstall from "./LayerZeroInstall.ts"
export * as LayerZeroRelay from "./LayerZeroRelay.ts"
export * as LocalAttester from "./LocalAttester.ts"
export * as RoutedSchemes from "./RoutedSchemes.ts"
