/**
 * The mutations that give up what earlier settings have begun: payments in an asset that is not configured any more, lanes without
 * their signer, and batches above today's maximum.
 */
import type { SourceMutation } from "../attacks/SourceMutation.ts"

export const assetForgotten: { readonly sources: SourceMutation } = {
  sources: [
    {
      module: "core/src/facilitator/lane/PaymentReading",
      piece: "scheme.recall === undefined",
      instead: "scheme.recall !== null"
    }
  ]
}

export const signerForgotten: { readonly sources: SourceMutation } = {
  sources: [
    {
      module: "core/src/facilitator/lane/SettlementEngine",
      piece: "orphans.size === 0",
      instead: "orphans.size >= 0"
    }
  ]
}

export const maximumObeyed: { readonly sources: SourceMutation } = {
  sources: [
    {
      module: "schemes/evm/src/exact/ExactEvmFacilitator",
      piece: "replaced === undefined",
      instead: "replaced !== null"
    }
  ]
}
