/**
 * The scheme client alone, for bundles: `import * as exactEvm from "@pontage/evm/client"` and then `exactEvm.client(...)`, or
 * `exactEvm.signerClient(...)` without smart accounts.
 */
export * as EvmSigner from "./wallet/EvmSigner.ts"
export { safeAccount } from "./wallet/SafeAccount.ts"
export * as SafeAccount from "./wallet/SafeAccount.ts"
export { client, signerClient } from "./exact/ExactEvmClient.ts"
export { smartAccount } from "./exact/OperationSigning.ts"
export { routes } from "./exact/RouteSigning.ts"
