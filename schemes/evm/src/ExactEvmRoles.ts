/**
 * The three configurations of `exact` on EVM, as users write them: `exactEvm.client({ signer, network })`,
 * `exactEvm.server({ rpcUrl })`, `exactEvm.facilitator({ signer, rpcUrl })`; and the signer of a payer or a facilitator
 * whose key is at hand: `exactEvm.localSigner(privateKey)`.
 */
import type { SchemeClient } from "@pontage/core"

import * as ExactEvmClient from "./ExactEvmClient.ts"
import * as KeyAccount from "./KeyAccount.ts"

export { facilitator } from "./ExactEvmFacilitator.ts"
export { server } from "./ExactEvmServer.ts"
export { localSigner } from "./LocalSigner.ts"

/**
 * The payer's half. A viem account that holds its key is asked to `sign` a digest, every other signer is shown the typed
 * data. Throws `Misconfigured` when the network, the signer's address or an asset is not one.
 *
 * @category constructors
 */
export const client = (options: ExactEvmClient.Options): SchemeClient =>
  ExactEvmClient.client({ ...options, signer: KeyAccount.signerOf(options.signer) })
