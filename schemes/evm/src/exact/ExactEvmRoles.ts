/**
 * The namespace `exactEvm`: the three roles of `exact` on EVM, `exactEvm.client({ signer, network })`,
 * `exactEvm.server({ rpcUrl })` and `exactEvm.facilitator({ signer, rpcUrl })`; and the signer for a key in memory, the payer's
 * or the facilitator's, `exactEvm.localSigner(privateKey)`, and for a smart account, `exactEvm.smartAccount(account)`. A Safe needs no library:
 * `exactEvm.safeAccount({ owner, rpcUrl })`. A payer over bridges has `exactEvm.routes()`. A shop signs
 * its receipts with `exactEvm.receiptSigner(privateKey)`; `exactEvm.receiptSignerOf(receipt)` finds who signed one.
 */
export { client } from "./ExactEvmClient.ts"
export { facilitator } from "./ExactEvmFacilitator.ts"
export { server } from "./ExactEvmServer.ts"
export { smartAccount } from "./OperationSigning.ts"
export { routes } from "./RouteSigning.ts"
export { safeAccount } from "../wallet/SafeAccount.ts"
export { localSigner } from "../wallet/LocalSigner.ts"
export { receiptSigner, receiptSignerOf } from "../wallet/ReceiptSigner.ts"
