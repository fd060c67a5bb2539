/**
 * The three roles of `exact` on TRON, as users write them: `exactTron.client({ signer, network, rpcUrl })`,
 * `exactTron.server({ rpcUrl })` and `exactTron.facilitator({ rpcUrl })`; and the signer by a private key,
 * `exactTron.localSigner(privateKey)`. `exactTron.payouts({ signer, rpcUrl })` pays shops from an operator's account.
 */
export { client } from "./ExactTronClient.ts"
export { facilitator } from "./ExactTronFacilitator.ts"
export { payouts } from "./ExactTronPayouts.ts"
export { server } from "./ExactTronServer.ts"
export { localSigner } from "../wallet/LocalTronSigner.ts"
