/**
 * The laws of schemes, stores and hosts, as data without a test runner: run each law in your own tests. And a ledger in memory
 * with a scheme on it, for tests that need a chain and its faults but no node.
 */
export { testMarket, type TestMarket, type TestMarketOptions, type TestMarketShop } from "./TestMarket.ts"
export { type Law, LawBroken } from "./Law.ts"
export * as ResponseStoreLaws from "./store/ResponseStoreLaws.ts"
export * as PaymentStoreLaws from "./store/PaymentStoreLaws.ts"
export * as ChannelStoreLaws from "./store/ChannelStoreLaws.ts"
export * as HostLaws from "./host/HostLaws.ts"
export * as OnwardLaws from "./scheme/OnwardLaws.ts"
export * as PayoutLaws from "./scheme/PayoutLaws.ts"
export * as SchemeLaws from "./scheme/SchemeLaws.ts"
export * as Tampering from "./scheme/Tampering.ts"
export * as TestLedger from "./ledger/TestLedger.ts"
export * as TestScheme from "./ledger/TestScheme.ts"
export * as TestBridge from "./ledger/TestBridge.ts"
