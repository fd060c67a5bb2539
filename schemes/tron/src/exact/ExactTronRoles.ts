/**
 * The three roles of `exact` on TRON, as users write them: `exactTron.client({ signer, network, rpcUrl })`,
 * `exactTron.server({ rpcUrl })` and `exactTron.facilitator({ rpcUrl })`; and the signer by a private key,
 * `exactTron.localSigner(privateKey)`.
 */
export { client } from "./ExactTronClient.ts"
export { facilitator } from "./ExactTronFacilitator.ts"
export { server } from "./ExactTronServer.ts"
export { localSigner } from "../wallet/LocalTronSigner.ts"
