/** The scheme client alone, for bundles: `import * as exactTron from "@pontage/tron/client"`, then `exactTron.client(...)`. */
export * as TronSigner from "./wallet/TronSigner.ts"
export { client } from "./exact/ExactTronClient.ts"
export { localSigner } from "./wallet/LocalTronSigner.ts"
