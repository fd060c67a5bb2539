/**
 * The chain that all roles share and the published peers' roles, for other programs that try them.
 */
export * as BaseSepolia from "./BaseSepolia.ts"
export * as ConformanceChain from "./ConformanceChain.ts"
export * as LoopbackServer from "./LoopbackServer.ts"
export * as PeerBuyer from "./PeerBuyer.ts"
export * as PeerFacilitator from "./PeerFacilitator.ts"
