/**
 * Refusals of the scheme `batch-settlement`, by the names that x402 gives them: on its wire each has the prefix
 * `invalid_batch_settlement_evm_` (specification `scheme_batch_settlement_evm.md`, section "Error codes"). The names `..._below_minimum`
 * are our own.
 */
import { invalid, type PaymentError, refuse, type ValidationError } from "@pontage/core"

/** A refusal: the payer's, or a server's request that cannot be settled. */
export type ChannelRefusal = PaymentError | ValidationError

/** The names in use. */
export type Name =
  | "authorizer_address_mismatch"
  | "authorizer_not_configured"
  | "channel_id_mismatch"
  | "channel_not_found"
  | "claim_below_minimum"
  | "claim_payload"
  | "claim_simulation_failed"
  | "claim_transaction_failed"
  | "cumulative_below_claimed"
  | "cumulative_exceeds_balance"
  | "deposit_below_min_deposit"
  | "deposit_payload"
  | "deposit_simulation_failed"
  | "deposit_transaction_failed"
  | "erc3009_authorization_required"
  | "insufficient_balance"
  | "payload_authorization_valid_after"
  | "payload_authorization_valid_before"
  | "payload_type"
  | "receive_authorization_signature"
  | "receiver_authorizer_mismatch"
  | "receiver_mismatch"
  | "refund_amount_invalid"
  | "refund_below_minimum"
  | "refund_no_balance"
  | "refund_payload"
  | "refund_simulation_failed"
  | "refund_transaction_failed"
  | "settle_below_minimum"
  | "settle_payload"
  | "settle_simulation_failed"
  | "settle_transaction_failed"
  | "token_mismatch"
  | "voucher_payload"
  | "voucher_signature"
  | "withdraw_delay_mismatch"
  | "withdraw_delay_out_of_range"

const codes: Partial<Record<Name, PaymentError["code"]>> = {
  voucher_signature: "INVALID_SIGNATURE",
  receive_authorization_signature: "INVALID_SIGNATURE",
  insufficient_balance: "INSUFFICIENT_BALANCE",
  cumulative_exceeds_balance: "INSUFFICIENT_BALANCE",
  payload_authorization_valid_after: "EXPIRED_PAYMENT",
  payload_authorization_valid_before: "EXPIRED_PAYMENT",
  receiver_mismatch: "INVALID_RECIPIENT"
}

const reasons: Partial<Record<Name, ValidationError["reason"]>> = {
  claim_payload: "malformed",
  deposit_payload: "malformed",
  payload_type: "malformed",
  refund_payload: "malformed",
  settle_payload: "malformed",
  voucher_payload: "malformed",
  channel_id_mismatch: "malformed",
  token_mismatch: "asset_mismatch",
  cumulative_below_claimed: "amount_mismatch",
  deposit_below_min_deposit: "amount_mismatch",
  refund_amount_invalid: "amount_mismatch",
  claim_below_minimum: "amount_mismatch",
  refund_below_minimum: "amount_mismatch",
  settle_below_minimum: "amount_mismatch"
}

/** The detail of every refusal here begins so: the wire of x402 writes its own prefix in its place. */
const prefix = "batch_settlement_"

/** Makes a refusal. `message` says what was expected, what came and what to do; `reason` replaces the usual one. */
export const make = (name: Name, message: string, reason?: ValidationError["reason"]): ChannelRefusal => {
  const code = codes[name]
  const detail = `${prefix}${name}`
  return code === undefined || reason !== undefined
    ? invalid(reason ?? reasons[name] ?? "unsupported_authorization", detail, message)
    : refuse(code, detail, message)
}
