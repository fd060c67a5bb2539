/**
 * The three configurations of `exact` on EVM, as users write them: `exactEvm.client({ signer, network })`,
 * `exactEvm.server({ rpcUrl })`, `exactEvm.facilitator({ signer, rpcUrl })`; and the signer where its key is
 * at hand, the payer's or the facilitator's: `exactEvm.localSigner(privateKey)`.
 */
export { client } from "./ExactEvmClient.ts"
export { facilitator } from "./ExactEvmFacilitator.ts"
export { server } from "./ExactEvmServer.ts"
export { localSigner } from "../wallet/LocalSigner.ts"
