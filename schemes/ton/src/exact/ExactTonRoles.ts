/**
 * The three configurations of `exact` on TON, as users write them: `exactTon.client({ signer, network, rpcUrl })`,
 * `exactTon.server({ rpcUrl })`, `exactTon.facilitator({ signer, rpcUrl })`; and the signer for a seed in memory, the payer's or
 * a relayer's, `exactTon.localSigner(seed)`. `exactTon.payouts({ signer, rpcUrl, relayer })` pays shops from an operator's account.
 */
export { client } from "./ExactTonClient.ts"
export { facilitator } from "./ExactTonFacilitator.ts"
export { payouts } from "./ExactTonPayouts.ts"
export { server } from "./ExactTonServer.ts"
export { localSigner } from "../wallet/LocalTonSigner.ts"
