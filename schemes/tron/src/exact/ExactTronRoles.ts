/**
 * The three configurations of `exact` on TRON, as users write them: `exactTron.client({ signer, network, rpcUrl })`,
 * `exactTron.server({ rpcUrl })`, `exactTron.facilitator({ rpcUrl })`; and a signer whose key is at hand:
 * `exactTron.localSigner(privateKey)`.
 */
export { client } from "./ExactTronClient.ts"
export { facilitator } from "./ExactTronFacilitator.ts"
export { server } from "./ExactTronServer.ts"
export { localSigner } from "../wallet/LocalTronSigner.ts"
