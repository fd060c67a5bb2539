/**
 * The calls of the channel contract, as call data, and the values that its views return.
 */
import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import type * as Eip2612 from "../transfer/Eip2612.ts"
import * as ChannelConfig from "./ChannelConfig.ts"
import type * as ChannelDeposit from "./ChannelDeposit.ts"
import type * as ClaimBatch from "./ClaimBatch.ts"

/** The ABI's fixed part of a channel's terms, as single words, so that offsets behind them are right. */
const configWords = (config: ChannelConfig.ChannelConfig): ReadonlyArray<string> =>
  ChannelConfig.words(config).match(/.{64}/g) ?? []

/** Data for the collector of transfer authorizations. */
export const erc3009Data = ({ salt, signature, validAfter, validBefore }: ChannelDeposit.Erc3009Deposit): EvmHex.Hex =>
  `0x${AbiEncoding.parameters([
    EvmHex.toWord(validAfter),
    EvmHex.toWord(validBefore),
    salt.slice(2),
    AbiEncoding.bytes(signature)
  ])}`

/** Data for the collector of deposits by Permit2, with the approval of Permit2 by signature where there is one (EIP-2612). */
export const permit2Data = (
  { deadline, nonce, signature }: ChannelDeposit.Permit2Deposit,
  approval?: Eip2612.SignedApproval
): EvmHex.Hex =>
  `0x${AbiEncoding.parameters([
    EvmHex.toWord(nonce),
    EvmHex.toWord(deadline),
    AbiEncoding.bytes(signature),
    AbiEncoding.bytes(approval === undefined ? "0x" : approvalData(approval))
  ])}`

const approvalData = ({ amount, deadline, signature }: Eip2612.SignedApproval): EvmHex.Hex =>
  `0x${EvmHex.toWord(amount)}${EvmHex.toWord(deadline)}${signature.slice(130).padStart(64, "0")}${signature.slice(2, 130)}`

/** deposit(Config,uint128,address,bytes) */
export const deposit = (
  config: ChannelConfig.ChannelConfig,
  amount: bigint,
  collector: EvmAddress.Address,
  data: EvmHex.Hex
): EvmHex.Hex =>
  `0x140f1e75${AbiEncoding.parameters([
    ...configWords(config),
    EvmHex.toWord(amount),
    AbiEncoding.address(collector),
    AbiEncoding.bytes(data)
  ])}`

/** A list whose elements have variable length: their number, and themselves as the ABI encodes them. */
const list = (elements: ReadonlyArray<string>): { readonly tail: string } => ({
  tail: EvmHex.toWord(elements.length) + AbiEncoding.parameters(elements.map((tail) => ({ tail })))
})

const claimRow = ({ signature, totalClaimed, voucher }: ClaimBatch.ClaimRow): string =>
  AbiEncoding.parameters([
    ...configWords(voucher.channel),
    EvmHex.toWord(voucher.maxClaimableAmount),
    AbiEncoding.bytes(signature),
    EvmHex.toWord(totalClaimed)
  ])

/** claim(VoucherClaim[]), from the receiver or the receiver authorizer of each row. */
export const claim = (rows: ReadonlyArray<ClaimBatch.ClaimRow>): EvmHex.Hex =>
  `0x29237b0c${AbiEncoding.parameters([list(rows.map(claimRow))])}`

/** claimWithSignature(VoucherClaim[],bytes), from anyone. */
export const claimWithSignature = (rows: ReadonlyArray<ClaimBatch.ClaimRow>, signature: EvmHex.Hex): EvmHex.Hex =>
  `0xe43ce1f2${AbiEncoding.parameters([list(rows.map(claimRow)), AbiEncoding.bytes(signature)])}`

/** settle(address,address), from anyone: moves everything that is claimed for a receiver in a token. */
export const settle = (receiver: EvmAddress.Address, token: EvmAddress.Address): EvmHex.Hex =>
  `0x9db32a8f${AbiEncoding.address(receiver)}${AbiEncoding.address(token)}`

/** refund(Config,uint128), from the receiver or the receiver authorizer. */
export const refund = (config: ChannelConfig.ChannelConfig, amount: bigint): EvmHex.Hex =>
  `0xdce4bfae${ChannelConfig.words(config)}${EvmHex.toWord(amount)}`

/** refundWithSignature(Config,uint128,uint256,bytes), from anyone. */
export const refundWithSignature = (
  config: ChannelConfig.ChannelConfig,
  amount: bigint,
  nonce: bigint,
  signature: EvmHex.Hex
): EvmHex.Hex =>
  `0xb77433e9${AbiEncoding.parameters([
    ...configWords(config),
    EvmHex.toWord(amount),
    EvmHex.toWord(nonce),
    AbiEncoding.bytes(signature)
  ])}`

/** initiateWithdraw(Config,uint128), from the payer or the payer authorizer. */
export const initiateWithdraw = (config: ChannelConfig.ChannelConfig, amount: bigint): EvmHex.Hex =>
  `0xcf5cf3dc${ChannelConfig.words(config)}${EvmHex.toWord(amount)}`

/** finalizeWithdraw(Config), from the payer or the payer authorizer. */
export const finalizeWithdraw = (config: ChannelConfig.ChannelConfig): EvmHex.Hex =>
  `0xe88377b1${ChannelConfig.words(config)}`

/** multicall(bytes[]): all of the calls, or none. */
export const multicall = (calls: ReadonlyArray<EvmHex.Hex>): EvmHex.Hex =>
  `0xac9650d8${AbiEncoding.parameters([list(calls.map((call) => AbiEncoding.bytes(call).tail))])}`

/** channels(bytes32), a view; `readPair` reads its balance and the sum of its claims. */
export const channels = (channelId: EvmHex.Hex): EvmHex.Hex => `0x7a7ebd7b${channelId.slice(2)}`

/** pendingWithdrawals(bytes32), a view; `readPair` reads its amount and when it began, in seconds since 1970, 0 for none. */
export const pendingWithdrawals = (channelId: EvmHex.Hex): EvmHex.Hex => `0xb7f06ebe${channelId.slice(2)}`

/** refundNonce(bytes32), a view of one number. */
export const refundNonce = (channelId: EvmHex.Hex): EvmHex.Hex => `0xf0dc792e${channelId.slice(2)}`

/** receivers(address,address), a view; `readPair` reads the sums that are claimed and settled for a receiver in a token. */
export const receivers = (receiver: EvmAddress.Address, token: EvmAddress.Address): EvmHex.Hex =>
  `0x21ff6389${AbiEncoding.address(receiver)}${AbiEncoding.address(token)}`

/** The two numbers that a view returned; `undefined` for anything else. */
export const readPair = (returned: EvmHex.Hex): readonly [bigint, bigint] | undefined =>
  returned.length === 130 ? [BigInt(returned.slice(0, 66)), BigInt(`0x${returned.slice(66)}`)] : undefined
