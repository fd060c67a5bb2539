/**
 * The payer's half alone, for bundles: `import * as exactTron from "@pontage/tron/client"` and then
 * `exactTron.client(...)`.
 */
export * as TronSigner from "./TronSigner.ts"
export { client } from "./ExactTronClient.ts"
export { localSigner } from "./LocalTronSigner.ts"
