/**
 * The messages of the scheme `batch-settlement`, as they travel. A payer sends a deposit, a voucher or a refund request; a shop
 * sends its facilitator these, and its own claims, settlements and refunds. Every field is bounded; amounts are decimal text
 * without sign, padding or leading zeros.
 */
import { invalid, type ValidationError } from "@pontage/core"
import * as Amount from "@pontage/core/Amount"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import * as Eip2612 from "../transfer/Eip2612.ts"
import * as ChannelConfig from "./ChannelConfig.ts"
import * as ChannelDeposit from "./ChannelDeposit.ts"
import * as ChannelNumber from "./ChannelNumber.ts"
import * as ClaimBatch from "./ClaimBatch.ts"
import * as Voucher from "./Voucher.ts"

/** The most claims in one message; the contract has no limit of its own, but a block's gas and a node's have. */
export const mostClaims = 200

const channel = { channelConfig: ChannelConfig.ChannelConfig, voucher: Voucher.Voucher }

/** The authorization of a deposit: exactly one of the two. */
export const DepositAuthorization = /* @__PURE__ */ Schema.Struct({
  erc3009Authorization: /* @__PURE__ */ Schema.optionalKey(ChannelDeposit.Erc3009Deposit),
  permit2Authorization: /* @__PURE__ */ Schema.optionalKey(ChannelDeposit.Permit2Deposit)
}).check(
  /* @__PURE__ */ Schema.makeFilter(
    ({ erc3009Authorization, permit2Authorization }) =>
      (erc3009Authorization === undefined) !== (permit2Authorization === undefined),
    { expected: "one authorization: erc3009Authorization or permit2Authorization" }
  )
)

/** A deposit with the first voucher that it covers; `eip2612GasSponsoring` is an approval of Permit2 by signature. */
export const DepositPayload = /* @__PURE__ */ Schema.Struct({
  type: /* @__PURE__ */ Schema.Literal("deposit"),
  ...channel,
  deposit: /* @__PURE__ */ Schema.Struct({ amount: ChannelNumber.Uint128, authorization: DepositAuthorization }),
  eip2612GasSponsoring: /* @__PURE__ */ Schema.optionalKey(Eip2612.SignedApproval)
})

export type DepositPayload = typeof DepositPayload.Type

/** A voucher for one more request. */
export const VoucherPayload = /* @__PURE__ */ Schema.Struct({
  type: /* @__PURE__ */ Schema.Literal("voucher"),
  ...channel
})

export type VoucherPayload = typeof VoucherPayload.Type

/** A request for a refund, of everything that is not claimed where `amount` is absent. Its voucher adds nothing. */
export const RefundPayload = /* @__PURE__ */ Schema.Struct({
  type: /* @__PURE__ */ Schema.Literal("refund"),
  ...channel,
  amount: /* @__PURE__ */ Schema.optionalKey(ChannelNumber.Uint128)
})

export type RefundPayload = typeof RefundPayload.Type

/** The messages of a payer. */
export const PayerPayload = /* @__PURE__ */ Schema.Union([DepositPayload, VoucherPayload, RefundPayload])

export type PayerPayload = typeof PayerPayload.Type

const claims = /* @__PURE__ */ Schema.Array(ClaimBatch.ClaimRow).check(/* @__PURE__ */ Schema.isMaxLength(mostClaims))

/** A shop's claim of its channels' vouchers. Without a signature the facilitator's own key authorizes it. */
export const ClaimPayload = /* @__PURE__ */ Schema.Struct({
  type: /* @__PURE__ */ Schema.Literal("claim"),
  claims,
  claimAuthorizerSignature: /* @__PURE__ */ Schema.optionalKey(Voucher.Signature)
})

export type ClaimPayload = typeof ClaimPayload.Type

/** A shop's request to move everything that is claimed for a receiver in a token. */
export const SettlePayload = /* @__PURE__ */ Schema.Struct({
  type: /* @__PURE__ */ Schema.Literal("settle"),
  receiver: EvmAddress.FromText,
  token: EvmAddress.FromText
})

export type SettlePayload = typeof SettlePayload.Type

/** A shop's refund: a payer's request, with the amount, the channel's count of refunds and the claims to make before it. */
export const ShopRefundPayload = /* @__PURE__ */ Schema.Struct({
  type: /* @__PURE__ */ Schema.Literal("refund"),
  ...channel,
  amount: ChannelNumber.Uint128,
  refundNonce: Amount.FromText,
  claims,
  refundAuthorizerSignature: /* @__PURE__ */ Schema.optionalKey(Voucher.Signature),
  claimAuthorizerSignature: /* @__PURE__ */ Schema.optionalKey(Voucher.Signature)
})

export type ShopRefundPayload = typeof ShopRefundPayload.Type

/** The messages that a shop has settled. */
export const ShopPayload = /* @__PURE__ */ Schema.Union([
  DepositPayload,
  ClaimPayload,
  SettlePayload,
  ShopRefundPayload
])

export type ShopPayload = typeof ShopPayload.Type

const decodePayer = /* @__PURE__ */ Schema.decodeUnknownEffect(PayerPayload)
const decodeShop = /* @__PURE__ */ Schema.decodeUnknownEffect(ShopPayload)

const malformed =
  (kind: string) =>
  (error: { readonly message: string }): ValidationError =>
    invalid("malformed", "payload_fields", `the payload is not ${kind}: ${error.message}`)

/** Decodes a payer's message; fails with `malformed`. */
export const decode = (json: unknown): Effect.Effect<PayerPayload, ValidationError> =>
  Effect.mapError(decodePayer(json), malformed("a deposit, a voucher or a refund request of a channel"))

/** Decodes a message that a shop has settled; fails with `malformed`. */
export const decodeForSettlement = (json: unknown): Effect.Effect<ShopPayload, ValidationError> =>
  Effect.mapError(decodeShop(json), malformed("a deposit, a claim, a settlement or a refund of a channel"))

/**
 * The id of the channel that a message is for, computed from its terms; fails where the message names another channel in its
 * voucher or in its deposit. An id is never read from a message: it is the key of a ledger.
 */
export const channelId = (
  chainId: number,
  payload: PayerPayload | ShopRefundPayload
): Effect.Effect<EvmHex.Hex, ValidationError> => {
  const id = ChannelConfig.id(chainId, payload.channelConfig)
  if (payload.voucher.channelId !== id) return otherChannel("voucher", payload.voucher.channelId, id)
  if (payload.type !== "deposit") return Effect.succeed(id)
  const witness = payload.deposit.authorization.permit2Authorization?.witness.channelId ?? id
  return witness === id ? Effect.succeed(id) : otherChannel("deposit", witness, id)
}

const otherChannel = (part: string, found: EvmHex.Hex, expected: EvmHex.Hex): Effect.Effect<never, ValidationError> =>
  Effect.fail(
    invalid(
      "malformed",
      "channel_id",
      `the ${part} is for the channel ${found}; the channel's terms are of ${expected}`
    )
  )

/** The part of a payer's message that all three kinds have, as it travels. */
export const channelOnWire = (config: ChannelConfig.ChannelConfig, voucher: Voucher.Voucher) => ({
  channelConfig: ChannelConfig.onWire(config),
  voucher: Voucher.onWire(voucher)
})
