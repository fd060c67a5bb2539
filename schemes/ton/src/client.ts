/**
 * The scheme client alone, for bundles: `import * as exactTon from "@pontage/ton/client"` and then `exactTon.client(...)`.
 */
export { client } from "./exact/ExactTonClient.ts"
export type * as TonSigner from "./wallet/TonSigner.ts"
