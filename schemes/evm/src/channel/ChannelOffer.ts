/**
 * The scheme `batch-settlement` as a payer reads it: the channel that an offer is paid through, and the reasons to decline one.
 */
import { AsciiJson, type Asset, type PaymentRequirements, type Scheme } from "@pontage/core"
import * as Amount from "@pontage/core/Amount"

import * as ExactEvm from "../payment/ExactEvm.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as ChannelConfig from "../voucher/ChannelConfig.ts"
import * as ChannelNumber from "../voucher/ChannelNumber.ts"

/** The definition of the scheme. */
export const scheme: Scheme = { ...ExactEvm.scheme, name: "batch-settlement" }

/** The payer's part of a channel's terms. */
export interface Payer {
  readonly payer: EvmAddress.Address
  readonly payerAuthorizer: EvmAddress.Address
  readonly salt: EvmHex.Hex
  /** The longest delay of withdrawals that the payer accepts, in seconds. */
  readonly maximumWithdrawDelay: number
}

/** The way to make a deposit, by its name in offers. */
export type DepositMethod = "eip3009" | "permit2"

/** The way that an offer wants deposits made in; transfer authorizations if it names none. */
export const methodOf = ({ extra = {} }: PaymentRequirements.PaymentRequirements): unknown =>
  extra["assetTransferMethod"] ?? "eip3009"

/** The terms of the channel that an offer is paid through; the reason, for people, why there is none. */
export const configOf = (
  { extra = {}, payTo }: PaymentRequirements.PaymentRequirements,
  asset: Asset,
  { maximumWithdrawDelay, payer, payerAuthorizer, salt }: Payer
): ChannelConfig.ChannelConfig | string => {
  const { receiverAuthorizer: named, withdrawDelay } = extra
  const receiver = EvmAddress.fromText(payTo)
  const token = EvmAddress.fromText(asset.address)
  const receiverAuthorizer = typeof named === "string" ? EvmAddress.fromText(named) : undefined
  if (receiver === undefined || token === undefined || receiverAuthorizer === undefined) {
    return `the offer's receiverAuthorizer ${quoted(named)} is not an address`
  }
  if (typeof withdrawDelay !== "number" || !Number.isSafeInteger(withdrawDelay)) {
    return `the offer's withdrawDelay ${quoted(withdrawDelay)} is not a number of seconds`
  }
  const config = { payer, payerAuthorizer, receiver, receiverAuthorizer, token, withdrawDelay, salt }
  const fault = ChannelConfig.fault(config)
  if (fault !== undefined) return `the offer's channel ${fault}`
  return withdrawDelay > maximumWithdrawDelay
    ? `a withdrawal from the offer's channel takes ${withdrawDelay} s, and maximumWithdrawDelay of this client is ${maximumWithdrawDelay} s`
    : config
}

/** The least deposit that an offer names; 0 if it names none. */
export const leastDeposit = ({ extra = {} }: PaymentRequirements.PaymentRequirements): bigint => {
  const { minDeposit } = extra
  return typeof minDeposit === "string" && Amount.isText(minDeposit) ? BigInt(minDeposit) : 0n
}

/**
 * The reason, for people, why an offer in a known asset is declined. The domain of the token never comes from the server, but a
 * server that names another one would reject the deposit.
 */
export const objection = (
  requirements: PaymentRequirements.PaymentRequirements,
  asset: Asset,
  payer: Payer
): string | undefined => {
  const { extra = {}, maxAmountRequired } = requirements
  const method = methodOf(requirements)
  if (method !== "eip3009")
    return `the offer wants deposits by ${quoted(method)}, and this client makes them by eip3009`
  if (!EvmAsset.hasAuthorizations(asset))
    return "the token has no transfer authorizations (EIP-3009) to make deposits by"
  const wrong = ["name", "version"].find((part) => typeof extra[part] === "string" && extra[part] !== asset.extra[part])
  if (wrong !== undefined) {
    return `the offer says that the ${wrong} of the token's EIP-712 domain is ${quoted(extra[wrong])}, and this client knows it as ${quoted(asset.extra[wrong])}`
  }
  if (BigInt(maxAmountRequired) > ChannelNumber.maximum) return "the offer asks more than a channel can hold"
  const config = configOf(requirements, asset, payer)
  return typeof config === "string" ? config : undefined
}

/** Quotes a stranger's text: short, and without characters that a terminal would interpret. */
const quoted = (value: unknown): string => AsciiJson.encode(value ?? null).slice(0, 100)
