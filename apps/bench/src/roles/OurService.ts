/**
 * Our facilitator as it is deployed: the service's own program, set up by its environment variables.
 */
import type * as PeerChain from "../PeerChain.ts"
import * as RoleProcess from "./RoleProcess.ts"

/** How it is set up; everything else is the service's default. */
export interface Options {
  /** `memory` or `sqlite:<file>`. */
  readonly store: string
  readonly batches: boolean
  /** The private key of the account that pays the gas. */
  readonly key: string
}

/** Starts it and waits until it is ready. Its limits are lifted, since all load comes from one address. */
export const start = (chain: PeerChain.PeerChain, { batches, key, store }: Options): Promise<RoleProcess.RoleProcess> =>
  RoleProcess.startOnPort(
    {
      module: "facilitator/dist/main.js",
      environment: {
        PONTAGE_STORE: store,
        PONTAGE_EVM_RPC_URL: chain.rpcUrl,
        PONTAGE_EVM_SIGNER_KEY: key,
        PONTAGE_RATE: "999999/999999",
        PONTAGE_PAYER_RATE: "999999/999999",
        PONTAGE_EVM_GAS_CEILING_WEI: "999999000000000000000000",
        PONTAGE_EVM_LOSS_BUDGET_WEI: "999999000000000000000000",
        ...(batches && { PONTAGE_EVM_BATCH_SETTLER: chain.settler })
      }
    },
    "/ready"
  )
