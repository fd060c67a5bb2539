/**
 * The payer's half alone, for bundles: `import * as exactTon from "@pontage/ton/client"` and then `exactTon.client(...)`.
 */
export { client } from "./ExactTonClient.ts"
export type * as TonSigner from "./TonSigner.ts"
