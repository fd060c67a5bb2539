/**
 * The three configurations of `exact` on TRON, as users write them: `exactTron.client({ signer, network, rpcUrl })`,
 * `exactTron.server({ rpcUrl })`, `exactTron.facilitator({ rpcUrl })`.
 */
export { client } from "./ExactTronClient.ts"
export { facilitator } from "./ExactTronFacilitator.ts"
export { server } from "./ExactTronServer.ts"
