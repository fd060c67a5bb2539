/**
 * The payer's half alone, for bundles: `import * as exactTron from "@pontage/tron/client"` and then
 * `exactTron.client(...)`.
 */
export * as TronSigner from "./wallet/TronSigner.ts"
export { client } from "./exact/ExactTronClient.ts"
export { localSigner } from "./wallet/LocalTronSigner.ts"
