/**
 * The protocol's error for a token's revert. A pause of the token is not the payer's fault: it is `ChainUnavailable`.
 */
import { ChainUnavailable, invalid, type PaymentError, refuse, type ValidationError } from "@pontage/core"

import type { EvmRevert } from "./EvmRevert.ts"

/** The detail of a refusal whose reason Permit2 does not pass on. */
export const fromFailed = "permit_transfer_refused"

/** The error for a revert of `transferWithAuthorization`. */
export const fromRevert = (network: string, revert: EvmRevert): PaymentError | ValidationError | ChainUnavailable => {
  switch (revert._tag) {
    case "UsedOrCanceled":
      return invalid(
        "already_used",
        "nonce_used",
        "the authorization's nonce is used already by the chain; sign a new one"
      )
    case "Expired":
      return refuse("EXPIRED_PAYMENT", "expired", "the authorization has expired by the chain's clock; sign a new one")
    case "NotYetValid":
      return refuse("EXPIRED_PAYMENT", "not_yet_valid", "the authorization is not valid yet by the chain's clock")
    case "InvalidSignature":
      return refuse("INVALID_SIGNATURE", "token_refused", "the chain does not accept the signature for this payer")
    case "InsufficientBalance":
      return refuse(
        "INSUFFICIENT_BALANCE",
        "balance_below_amount",
        "the payer holds less of the token than the payment"
      )
    case "Blacklisted":
      return invalid("unsupported_authorization", "account_blocked", "the token blocks the payer or the recipient")
    case "Paused":
      return new ChainUnavailable({ network, message: "the token is paused: no payment in it can be made now" })
    case "DeployedBefore":
      return invalid(
        "unsupported_authorization",
        "account_deployed",
        "the user operation deploys the payer's account, which is deployed already; sign an operation without a factory"
      )
    case "NotDeployed":
      return invalid(
        "unsupported_authorization",
        "account_not_deployed",
        "the factory of the signature (ERC-6492) deploys no account at the payer's address"
      )
    case "TransferFromFailed":
      return invalid(
        "unsupported_authorization",
        fromFailed,
        "the token refuses to let Permit2 move the amount: the payer's approval of Permit2 or its balance is too low, or the token blocks an account"
      )
    // The bridge has raised its price since, which is no fault of the payer.
    case "MessagePrice":
      return invalid(
        "unsupported_authorization",
        "message_price",
        "the price of the bridge's message rose above what was sent for it; request the resource again and pay by its new quote"
      )
    case "Other": {
      const message = `the token refuses the transfer: ${revert.message}`
      return invalid("unsupported_authorization", "transfer_refused", message)
    }
  }
}
