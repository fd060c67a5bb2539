/**
 * The checks of what a payer and a server have signed, without the chain and as strictly as the contract checks them in a claim: an
 * accepted voucher that the contract refuses would be served for nothing, and would hold up the claims beside it.
 */
import type { PaymentRequirements } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmSignature from "../crypto/EvmSignature.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as ChannelConfig from "../voucher/ChannelConfig.ts"
import * as ChannelDeposit from "../voucher/ChannelDeposit.ts"
import * as Voucher from "../voucher/Voucher.ts"
import type { ChannelChain } from "./ChannelChain.ts"
import type { ChannelWork, DepositJob } from "./ChannelJob.ts"
import * as ChannelRefusal from "./ChannelRefusal.ts"

type Checked = Effect.Effect<void, ChannelRefusal.ChannelRefusal>
type Requirements = PaymentRequirements.PaymentRequirements

const refuse = (name: ChannelRefusal.Name, message: string) => Effect.fail(ChannelRefusal.make(name, message))

/** The terms of a channel against those of the offer; receiver and token were compared when it was read. */
export const config = (terms: ChannelConfig.ChannelConfig, { extra = {} }: Requirements): Checked => {
  const { receiverAuthorizer, withdrawDelay } = extra
  const { receiverAuthorizer: signed } = terms
  if (typeof receiverAuthorizer !== "string" || !EvmAddress.equals(receiverAuthorizer, signed)) {
    const message = `the channel's receiverAuthorizer is ${EvmAddress.checksum(signed)}, the offer's is ${JSON.stringify(receiverAuthorizer ?? "missing")}`
    return refuse("receiver_authorizer_mismatch", message)
  }
  if (withdrawDelay !== undefined && withdrawDelay !== terms.withdrawDelay) {
    const message = `the channel's withdrawDelay is ${terms.withdrawDelay} s, the offer's is ${JSON.stringify(withdrawDelay)}`
    return refuse("withdraw_delay_mismatch", message)
  }
  return bounds(terms)
}

/** The bounds that the contract sets to the terms of a channel. */
const bounds = (terms: ChannelConfig.ChannelConfig): Checked => {
  const delay = ChannelConfig.delayFault(terms)
  if (delay !== undefined) return refuse("withdraw_delay_out_of_range", `the channel ${delay}`)
  const fault = ChannelConfig.fault(terms)
  return fault === undefined ? Effect.void : refuse("receiver_authorizer_mismatch", `the channel ${fault}`)
}

/** A voucher: it names this channel, and the payer's authorizer has signed it in the one form that the contract takes. */
export const voucher = (
  { callContext, chainId }: ChannelChain,
  terms: ChannelConfig.ChannelConfig,
  signed: Voucher.Voucher
): Checked => {
  const channelId = ChannelConfig.id(chainId, terms)
  if (signed.channelId !== channelId) {
    const message = `the voucher is for the channel ${signed.channelId}; the channel's terms are those of ${channelId}`
    return refuse("channel_id_mismatch", message)
  }
  const verdict = Voucher.check(chainId, signed, terms.payerAuthorizer, callContext.crypto)
  if (verdict === "valid") return Effect.void
  const message =
    verdict === "contract"
      ? "the channel has no payerAuthorizer, so its payer's code would validate the vouchers (ERC-1271), and that is not served here: the code may answer otherwise at the claim; open a channel with a key's address as payerAuthorizer"
      : `the voucher is not signed by ${EvmAddress.checksum(terms.payerAuthorizer)} as the contract requires: 65 bytes, s in the lower half, v of 27 or 28`
  return refuse("voucher_signature", message)
}

/** Whether a key has signed a digest, in the one form that the contract takes. */
export const isSignedBy = (
  { callContext: { crypto } }: ChannelChain,
  digest: Uint8Array,
  text: string,
  account: EvmAddress.Address
): boolean => {
  const signature = EvmSignature.fromText(text)
  return signature._tag === "Ecdsa" && EvmSignature.recoverAddress(digest, signature, crypto) === account
}

/** The way in for accounts with code, for people. */
export const fromCode =
  "an account with code sends its deposit to the contract itself, and pays by vouchers of the channel's payerAuthorizer"

/** The payer's own signature of a deposit. Tokens let the code of an account decide otherwise, so such accounts are refused later. */
export const deposit = (
  chain: ChannelChain,
  { authorization, config: terms, signature }: DepositJob,
  { token }: Pick<ChannelWork, "token">
): Checked => {
  const price = chain.minimum.of(token)
  if (price !== undefined && authorization.value < price.amount) {
    const message = `the deposit is of ${authorization.value}, at least ${price.amount} of the smallest unit is taken (${price.option})`
    return refuse("deposit_below_min_deposit", message)
  }
  if (authorization.value < chain.minimumDeposit) {
    const message = `the deposit is of ${authorization.value}, at least ${chain.minimumDeposit} of the smallest unit is taken`
    return refuse("deposit_below_min_deposit", message)
  }
  if (!EvmAsset.hasAuthorizations(token)) {
    return refuse(
      "erc3009_authorization_required",
      `the token ${token.symbol} has no transfer authorizations (ERC-3009)`
    )
  }
  const digest = ChannelDeposit.receiveDigest(EvmAsset.domain(token), authorization, chain.callContext.crypto.keccak256)
  return isSignedBy(chain, digest, signature, terms.payer)
    ? Effect.void
    : refuse(
        "receive_authorization_signature",
        `the deposit is not signed by the key of its payer ${EvmAddress.checksum(terms.payer)}; ${fromCode}`
      )
}

/** Seconds that have to be left of a deposit's validity. */
const marginSeconds = 6

/** The validity of a deposit at `now`, Unix seconds. */
export const window = ({ authorization: { validAfter, validBefore } }: DepositJob, now: number): Checked => {
  if (validBefore < BigInt(now + marginSeconds)) {
    const message = `the deposit is valid before ${validBefore}, it is ${now} now and ${marginSeconds} seconds must be left; sign a new one`
    return refuse("payload_authorization_valid_before", message)
  }
  const message = `the deposit is valid only after ${validAfter}, it is ${now} now; check the payer's clock`
  return validAfter >= BigInt(now) ? refuse("payload_authorization_valid_after", message) : Effect.void
}
