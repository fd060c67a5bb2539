/**
 * A channel's state, as shops and facilitators report it in receipts and in corrective refusals. It is a claim of the other side:
 * a payer compares it with the chain and with its own signatures, and copies none of it.
 */
import * as Amount from "@pontage/core/Amount"
import * as Schema from "effect/Schema"

import * as EvmHex from "../primitives/EvmHex.ts"
import * as ChannelNumber from "./ChannelNumber.ts"
import * as Voucher from "./Voucher.ts"

/**
 * The state: deposits less refunds and withdrawals, the sum of all claims, when a withdrawal began (seconds since 1970; 0 for
 * none), the count of refunds, and by the shop's ledger the sum of all charges.
 */
export const ChannelState = /* @__PURE__ */ Schema.Struct({
  channelId: EvmHex.Bytes32,
  balance: ChannelNumber.Uint128,
  totalClaimed: ChannelNumber.Uint128,
  withdrawRequestedAt: ChannelNumber.Uint40,
  refundNonce: Amount.FromText,
  chargedCumulativeAmount: /* @__PURE__ */ Schema.optionalKey(ChannelNumber.Uint128)
})

export type ChannelState = typeof ChannelState.Type

/** The state as it travels. */
export const onWire = (state: ChannelState) => ({
  channelId: state.channelId,
  balance: `${state.balance}`,
  totalClaimed: `${state.totalClaimed}`,
  withdrawRequestedAt: state.withdrawRequestedAt,
  refundNonce: `${state.refundNonce}`,
  ...(state.chargedCumulativeAmount !== undefined && {
    chargedCumulativeAmount: `${state.chargedCumulativeAmount}`
  })
})

/** The highest voucher that the shop has, in a corrective refusal: the proof that the payer signed it. */
export const VoucherState = /* @__PURE__ */ Schema.Struct({
  signedMaxClaimable: ChannelNumber.Uint128,
  signature: Voucher.Signature
})

export type VoucherState = typeof VoucherState.Type

/** The terms of a corrective refusal's offer that say where the channel stands. */
export const Correction = /* @__PURE__ */ Schema.Struct({
  channelState: ChannelState,
  voucherState: /* @__PURE__ */ Schema.optionalKey(VoucherState)
})

export type Correction = typeof Correction.Type

/** The terms of a receipt. `chargedAmount` is the charge of this request; absent for a refund. */
export const ReceiptTerms = /* @__PURE__ */ Schema.Struct({
  channelState: ChannelState,
  chargedAmount: /* @__PURE__ */ Schema.optionalKey(ChannelNumber.Uint128)
})

export type ReceiptTerms = typeof ReceiptTerms.Type
