/**
 * The three configurations of `exact` on TON, as users write them: `exactTon.client({ signer, network, rpcUrl })`,
 * `exactTon.server({ rpcUrl })`, `exactTon.facilitator({ signer, rpcUrl })`.
 */
export { client } from "./ExactTonClient.ts"
export { facilitator } from "./ExactTonFacilitator.ts"
export { server } from "./ExactTonServer.ts"
