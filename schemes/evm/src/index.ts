/**
 * The `exact` scheme on EVM chains by EIP-3009 transfer authorizations, user operations and Permit2. `exactEvm.client`, `.server` and `.facilitator` are
 * its three roles; the modules behind them are exported for programs that build on them.
 */
export {
  batchSettlerAddress,
  bridgeRouterAddress,
  cctpRouterAddress,
  counterfactualSettlerAddress,
  deployBatchSettler,
  deployBridgeRouter,
  deployCctpRouter,
  deployCounterfactualSettler,
  deployOpSettler,
  deployPermitSettler,
  deployPaymentGuard,
  opSettlerAddress,
  permitSettlerAddress,
  paymentGuardAddress
} from "./sending/OwnContracts.ts"
export * as ChannelCall from "./voucher/ChannelCall.ts"
export * as ChannelConfig from "./voucher/ChannelConfig.ts"
export * as ChannelContract from "./voucher/ChannelContract.ts"
export * as ChannelDeposit from "./voucher/ChannelDeposit.ts"
export * as ChannelEvent from "./voucher/ChannelEvent.ts"
export * as ChannelPayload from "./voucher/ChannelPayload.ts"
export * as ChannelRefund from "./voucher/ChannelRefund.ts"
export * as ChannelState from "./voucher/ChannelState.ts"
export * as ClaimBatch from "./voucher/ClaimBatch.ts"
export * as Eip2612 from "./transfer/Eip2612.ts"
export * as Eip3009 from "./transfer/Eip3009.ts"
export * as EvmAddress from "./primitives/EvmAddress.ts"
export * as EvmAsset from "./transfer/EvmAsset.ts"
export * as EvmCrypto from "./crypto/EvmCrypto.ts"
export * as EvmHex from "./primitives/EvmHex.ts"
export * as EvmNetwork from "./primitives/EvmNetwork.ts"
export * as EvmRpc from "./node/EvmRpc.ts"
export * as EvmSignature from "./crypto/EvmSignature.ts"
export * as EvmSigner from "./wallet/EvmSigner.ts"
export type * as EvmSmartAccount from "./wallet/EvmSmartAccount.ts"
export type { UnsignedTransaction } from "./primitives/Eip1559.ts"
export type { EvmTransactionSigner } from "./wallet/EvmTransactionSigner.ts"
export * as ExactEvm from "./payment/ExactEvm.ts"
export * as Permit2 from "./transfer/Permit2.ts"
export * as SafeAccount from "./wallet/SafeAccount.ts"
export * as Voucher from "./voucher/Voucher.ts"
export * as bridgeEvm from "./delivery/DeliveryFacilitator.ts"
export * as channelEvm from "./channel/ChannelRoles.ts"
export * as topUpEvm from "./topup/EvmTopUps.ts"
export * as exactEvm from "./exact/ExactEvmRoles.ts"
