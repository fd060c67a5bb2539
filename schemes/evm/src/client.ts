/**
 * The payer's half alone, for bundles: `import * as exactEvm from "@pontage/evm/client"` and then `exactEvm.client(...)`.
 */
export * as EvmSigner from "./EvmSigner.ts"
export { client } from "./ExactEvmClient.ts"
