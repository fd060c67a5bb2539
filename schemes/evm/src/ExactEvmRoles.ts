/**
 * The three configurations of `exact` on EVM, as users write them: `exactEvm.client({ signer, network })`,
 * `exactEvm.server({ rpcUrl })`, `exactEvm.facilitator({ signer, rpcUrl })`.
 */
export { client } from "./ExactEvmClient.ts"
export { facilitator } from "./ExactEvmFacilitator.ts"
export { server } from "./ExactEvmServer.ts"
