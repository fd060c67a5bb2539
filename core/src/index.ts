/**
 * The 402 payment flow without a framework and without a chain: the vocabulary, how it travels, the scheme contract, and
 * the three roles (client, server, facilitator) as typed services.
 */
export * as BoundedMap from "./platform/BoundedMap.ts"
export * as Entropy from "./platform/Entropy.ts"
export * as Hash from "./platform/Hash.ts"
export * as RepeatedWarning from "./platform/RepeatedWarning.ts"
export * as AddressPlace from "./protocol/AddressPlace.ts"
export * as Amount from "./protocol/Amount.ts"
export type { Asset } from "./protocol/Asset.ts"
export type { Authorization } from "./protocol/Authorization.ts"
export * as Binding from "./protocol/Binding.ts"
export * as CanonicalText from "./protocol/text/CanonicalText.ts"
export { isLoopback } from "./protocol/text/Loopback.ts"
export * as LikelySpelling from "./protocol/text/LikelySpelling.ts"
export * as Network from "./protocol/Network.ts"
export { PaymentError, PaymentErrorCode, refuse } from "./protocol/PaymentError.ts"
export type { PaymentFailure } from "./protocol/PaymentFailure.ts"
export * as DrawId from "./facilitator/channel/DrawId.ts"
export * as PaymentId from "./protocol/PaymentId.ts"
export * as PaymentPayload from "./protocol/PaymentPayload.ts"
export * as PaymentRequired from "./protocol/PaymentRequired.ts"
export * as PaymentRequirements from "./protocol/PaymentRequirements.ts"
export * as Price from "./protocol/Price.ts"
export {
  ChainUnavailable,
  FacilitatorUnavailable,
  Misconfigured,
  SettlementPending,
  type ProtocolError
} from "./protocol/ProtocolError.ts"
export * as RetryToken from "./protocol/RetryToken.ts"
export * as RouteToken from "./protocol/RouteToken.ts"
export * as Settlement from "./protocol/Settlement.ts"
export * as PurchaseReceipt from "./wire/pontage/PurchaseReceipt.ts"
export * as SignedOffer from "./wire/pontage/SignedOffer.ts"
export * as SignedReceipt from "./wire/pontage/SignedReceipt.ts"
export * as SignedStatement from "./wire/pontage/SignedStatement.ts"
export type * as TypedStatement from "./wire/pontage/TypedStatement.ts"
export * as Supported from "./protocol/Supported.ts"
export { type UnquotedNetwork, type UnquotedReason, unquotedSentence } from "./protocol/Supported.ts"
export * as OptionCheck from "./protocol/OptionCheck.ts"
export * as Shape from "./protocol/Shape.ts"
export { invalid, ValidationError, ValidationReason } from "./protocol/ValidationError.ts"
export {
  type ChannelCredits,
  type ChannelStanding,
  Facilitator,
  NotOnRecord,
  type Claim,
  type ClaimVerdict,
  type ExecutionOutcome,
  type ExecutionEnd,
  type PaymentRequest,
  type Credit,
  type CreditRequest,
  type Settled,
  type Verified,
  type VoucherKept
} from "./facilitator/Facilitator.ts"
export * as FacilitatorByUrl from "./facilitator/x402/FacilitatorByUrl.ts"
export * as FacilitatorClient from "./facilitator/remote/FacilitatorClient.ts"
export * as IntakeGate from "./facilitator/local/IntakeGate.ts"
export * as X402Facilitator from "./facilitator/x402/X402Facilitator.ts"
export { CurrentBuyer } from "./facilitator/CurrentBuyer.ts"
export { CurrentCaller, maySee, type Caller, type DrawPlace } from "./facilitator/Caller.ts"
export * as ChainClock from "./facilitator/local/ChainClock.ts"
export * as Checkpoint from "./facilitator/Checkpoint.ts"
export * as LaneLeases from "./facilitator/store/LaneLeases.ts"
export { LaneAdmission } from "./facilitator/local/LocalFacilitator.ts"
export * as LocalFacilitator from "./facilitator/local/LocalFacilitator.ts"
export * as MemoryPaymentStore from "./facilitator/store/MemoryPaymentStore.ts"
export type { Allowance, NetworkSpend, OpenExpense } from "./facilitator/store/NetworkSpend.ts"
export * as TransactionCost from "./facilitator/store/TransactionCost.ts"
export * as RecordAge from "./facilitator/store/RecordAge.ts"
export * as RecordRetention from "./facilitator/local/RecordRetention.ts"
export * as PaymentReading from "./facilitator/lane/PaymentReading.ts"
export * as PaymentChange from "./facilitator/store/PaymentChange.ts"
export * as PaymentStore from "./facilitator/store/PaymentStore.ts"
export type { DeliveryReport } from "./facilitator/store/Delivery.ts"
export * as Delivery from "./facilitator/store/Delivery.ts"
export * as Execution from "./facilitator/store/Execution.ts"
export * as Stock from "./facilitator/store/Stock.ts"
export * as Signals from "./facilitator/store/Signals.ts"
export * as AssetTable from "./scheme/AssetTable.ts"
export * as CallerShares from "./scheme/CallerShares.ts"
export * as LossBudget from "./scheme/LossBudget.ts"
export type { Scheme } from "./scheme/Scheme.ts"
export { SigningFailed, type SchemeClient, type SignedPayment, type SigningRequest } from "./scheme/SchemeClient.ts"
export type {
  Block,
  Conclusion,
  Fees,
  Inclusion,
  PaymentObservation,
  UnmovedPush,
  ObservedPayment,
  Payment,
  Preparation,
  PreparedTransaction,
  SchemeFacilitator,
  TransactionObservation,
  SignerBalance,
  Slot,
  SlotCount,
  SubmitResult,
  ChainHead
} from "./scheme/SchemeFacilitator.ts"
export type {
  DeliveryObservation,
  Departure,
  Onward,
  OnwardPlace,
  Push,
  PushSigning,
  Stock as OperatorStock,
  StockDraw
} from "./scheme/Onward.ts"
export type { PayoutOrder, Payouts, PayoutSigning, PayoutState } from "./scheme/Payouts.ts"
export type {
  ChannelFacts,
  ChannelReport,
  ChannelRequest,
  ChannelStep,
  InspectedChannel,
  JobRecord,
  JobRecords,
  SchemeChannels
} from "./scheme/SchemeChannels.ts"
export type {
  ChannelAccount,
  ChannelParties,
  ChannelRow,
  ChannelSums,
  ClaimRequests,
  Payout,
  OrderedRefund,
  PresentedVoucher,
  SchemeDraws
} from "./scheme/SchemeDraws.ts"
export { ChannelCorrection } from "./scheme/ChannelCorrection.ts"
export * as OwnTransfer from "./scheme/OwnTransfer.ts"
export * as ClientSchemeRegistry from "./scheme/ClientSchemeRegistry.ts"
export * as FacilitatorSchemeRegistry from "./scheme/FacilitatorSchemeRegistry.ts"
export type { FacilitatorScheme } from "./scheme/FacilitatorSchemeRegistry.ts"
export * as SchemeRegistry from "./scheme/SchemeRegistry.ts"
export * as ServerSchemeRegistry from "./scheme/ServerSchemeRegistry.ts"
export type {
  OnwardOffer,
  OnwardOffers,
  OnwardOption,
  OnwardQuote,
  QuotedOnward,
  SchemeServer,
  Use
} from "./scheme/SchemeServer.ts"
export * as AsciiJson from "./wire/http/AsciiJson.ts"
export * as BoundedBody from "./wire/http/BoundedBody.ts"
export type {
  AcceptedOffer,
  ResponseHead,
  HeaderFields,
  SentHeaders,
  PayerDialect,
  PaymentTerms,
  PresentedPayment,
  ReadHeader,
  ReadRefusal,
  RefusalMessage,
  SellerDialect
} from "./wire/pontage/Dialect.ts"
export * as DrawsApi from "./wire/pontage/DrawsApi.ts"
export * as FacilitatorApi from "./wire/pontage/FacilitatorApi.ts"
export * as ChainNodeClient from "./wire/http/ChainNodeClient.ts"
export * as HttpOrigin from "./wire/http/HttpOrigin.ts"
export { protocolPayer } from "./wire/pontage/ProtocolPayer.ts"
export { protocolSeller } from "./wire/pontage/ProtocolSeller.ts"
export * as Refusal from "./wire/pontage/Refusal.ts"
export * as X402ServerApiResponse from "./wire/x402-api/X402ServerApiResponse.ts"
export * as X402ServerApiKinds from "./wire/x402-api/X402ServerApiKinds.ts"
export * as X402ServerApiRequest from "./wire/x402-api/X402ServerApiRequest.ts"
export * as MetaPayer from "./wire/x402/X402MetaPayer.ts"
export * as MetaSeller from "./wire/x402/X402MetaSeller.ts"
export * as PayerDialects from "./wire/PayerDialects.ts"
export * as MppMeta from "./wire/mpp/MppMeta.ts"
export * as MppMetaPayer from "./wire/mpp/MppMetaPayer.ts"
export * as MppMetaSeller from "./wire/mpp/MppMetaSeller.ts"
export { mppPayer } from "./wire/mpp/MppPayer.ts"
export { mppSeller, type MppOptions } from "./wire/mpp/MppSeller.ts"
export { x402v1Payer } from "./wire/x402/X402v1Payer.ts"
export { x402v1Seller } from "./wire/x402/X402v1Seller.ts"
export { x402v2Payer } from "./wire/x402/X402v2Payer.ts"
export { x402v2Seller } from "./wire/x402/X402v2Seller.ts"
export {
  headersOf,
  outcomeOfStatus,
  type ResponseSink,
  type Decision,
  type SettleAfter,
  type Free,
  type GateRequest,
  type Granted,
  type Refused,
  type Repeated,
  type Uncharged
} from "./server/http/Decision.ts"
export type { GateResponse } from "./server/http/GateResponse.ts"
export * as HeldBody from "./server/host/HeldBody.ts"
export * as HeldResponse from "./server/host/HeldResponse.ts"
export * as SignedResponse from "./server/host/SignedResponse.ts"
export * as NodeExchange from "./server/host/NodeExchange.ts"
export * as RequestMarks from "./server/host/RequestMarks.ts"
export * as NodeRequest from "./server/host/NodeRequest.ts"
export * as RouteParams from "./server/host/RouteParams.ts"
export * as SoldRoutes from "./server/host/SoldRoutes.ts"
export * as SoldSteps from "./server/host/SoldSteps.ts"
export * as WebExchange from "./server/host/WebExchange.ts"
export * as WebRequest from "./server/host/WebRequest.ts"
export * as DiscoveryOptions from "./server/discovery/DiscoveryOptions.ts"
export * as DiscoveryPages from "./server/discovery/DiscoveryPages.ts"
export * as PaymentGate from "./server/PaymentGate.ts"
export type { PricedRoute } from "./server/route/PricedRoute.ts"
export { routeKeys } from "./server/route/WrittenRoute.ts"
export { ResponseStore } from "./server/shop/ResponseStore.ts"
export * as MemoryResponseStore from "./server/shop/MemoryResponseStore.ts"
export type {
  Advance,
  ChannelState,
  ClaimPolicy,
  ClaimRow,
  Draw,
  DrawEnd,
  DrawLimits,
  DrawRecord,
  DrawVerdict,
  NewChannel,
  RefundOrder,
  RefundVerdict,
  SentRefund,
  SignedMaximum,
  Standing
} from "./facilitator/channel/Channel.ts"
export * as ChannelLedger from "./facilitator/channel/ChannelLedger.ts"
export { ChannelStore } from "./facilitator/channel/ChannelStore.ts"
export * as MemoryChannelStore from "./facilitator/channel/MemoryChannelStore.ts"
export * as Paywall from "./server/shop/Paywall.ts"
export * as PriceResolver from "./server/shop/PriceResolver.ts"
export * as KeptResponse from "./server/http/KeptResponse.ts"
export * as RequestHeaders from "./server/http/RequestHeaders.ts"
export * as RequestTarget from "./server/http/RequestTarget.ts"
export * as ResponseCapture from "./server/http/ResponseCapture.ts"
export * as ResponseHeaders from "./server/http/ResponseHeaders.ts"
export * as VoucherRoute from "./server/route/VoucherRoute.ts"
export * as PaymentMeter from "./server/http/PaymentMeter.ts"
export * as MeteredMessage from "./server/host/MeteredMessage.ts"
export * as GrantedResponse from "./server/http/GrantedResponse.ts"
export * as ResponseSeal from "./server/http/ResponseSeal.ts"
export * as ResponseWatch from "./server/http/ResponseWatch.ts"
export * as UpgradeRequest from "./server/http/UpgradeRequest.ts"
export type { BodyStream } from "./server/http/UnreadBody.ts"
export type {
  AcceptTerms,
  Charge,
  ChargedResponse,
  Metered,
  GetPrice,
  PriceRequest,
  RequestRefusal,
  PathParams,
  RouteConfig,
  RouteMap,
  RouteTerms,
  SingleTerms,
  Validate
} from "./server/route/RouteConfig.ts"
export * as RouteKey from "./server/route/RouteKey.ts"
export * as RouteTable from "./server/route/RouteTable.ts"
export * as Seller from "./server/Seller.ts"
export * as Buyer from "./client/Buyer.ts"
export * as ChannelEntry from "./client/ChannelEntry.ts"
export * as ChannelPurchase from "./client/ChannelPurchase.ts"
export type * as OwnPurchase from "./client/OwnPurchase.ts"
export { RefundUnanswered } from "./client/OwnPurchase.ts"
export type * as ChannelSigner from "./scheme/ChannelSigner.ts"
export { JournalEntry, JournalState } from "./client/JournalEntry.ts"
export { journalLine } from "./client/JournalEntryShape.ts"
export { NoResponse, PaymentRefused } from "./client/PurchaseResponse.ts"
export type { PayableRequest } from "./client/PayableRequest.ts"
export * as PaymentClient from "./client/PaymentClient.ts"
export { StreamBroken } from "./client/stream/FollowedStream.ts"
export type { FollowedStream, StreamEnd, StreamOutcome } from "./client/stream/FollowedStream.ts"
export * as OfferedStream from "./client/stream/MeteredTerms.ts"
export { StreamStopped } from "./client/stream/StreamCourse.ts"
export * as TopUps from "./client/topup/TopUps.ts"
export { decline, DeclineRule, PaymentDeclined } from "./client/PaymentDeclined.ts"
export * as PaymentJournal from "./client/PaymentJournal.ts"
export type { AssetLimit, PaymentLimits } from "./client/PaymentLimits.ts"
export type { PaymentAllowances, Quote, TopUpQuote } from "./client/PaymentPolicy.ts"
