/**
 * A payer's way out of a channel without its shop: a withdrawal begins, the channel's delay passes, and the withdrawal ends. Both
 * steps are transactions of the payer, or of the key that signs its vouchers, and cost gas. Until the end the shop can claim what
 * vouchers allow it, so a withdrawal returns at most what is not claimed by then.
 */
import { type ChainUnavailable, Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as SingleTransaction from "../sending/SingleTransaction.ts"
import * as EvmRevert from "../transfer/EvmRevert.ts"
import * as ChannelCall from "../voucher/ChannelCall.ts"
import * as ChannelConfig from "../voucher/ChannelConfig.ts"
import * as ChannelContract from "../voucher/ChannelContract.ts"
import * as ChannelEvent from "../voucher/ChannelEvent.ts"
import type { EvmTransactionSigner } from "../wallet/EvmTransactionSigner.ts"
import * as ChannelReading from "./ChannelReading.ts"

/** A channel's terms as they travel in its payments (`channelConfig`). */
export type ChannelTerms = typeof ChannelConfig.ChannelConfig.Encoded

/** Options of `channelEvm.state`. */
export interface StateOptions {
  readonly rpcUrl: string
  /** The channel's terms, as they are in its payments (`channelConfig`). */
  readonly channel: ChannelTerms
}

/** Options of `channelEvm.withdraw`. */
export interface WithdrawOptions extends StateOptions {
  /** The payer's account, or that of its `payerAuthorizer`. It pays the gas; the money goes to the payer. */
  readonly signer: EvmTransactionSigner
  /** In the token's smallest unit; default everything that is not claimed. For the step that begins a withdrawal. */
  readonly amount?: bigint
  /** The maximum price of a unit of gas, in wei; default 500 gwei. */
  readonly maxFeePerGas?: bigint
}

/** The withdrawal after a call. Times are in seconds since 1970, amounts in the token's smallest unit. */
export type Withdrawal =
  /** Nothing is there to withdraw, and nothing was sent. */
  | { readonly _tag: "Nothing" }
  /** This call began it. Call again from `finalizeAfter` on. */
  | { readonly _tag: "Begun"; readonly amount: bigint; readonly finalizeAfter: number; readonly transaction: string }
  /** An earlier call began it, and its delay is not over; nothing was sent. */
  | { readonly _tag: "Waiting"; readonly amount: bigint; readonly finalizeAfter: number }
  /** This call ended it: `amount` was paid to the payer, less than was asked for where the shop has claimed meanwhile. */
  | { readonly _tag: "Paid"; readonly amount: bigint; readonly transaction: string }

const common = {
  rpcUrl: OptionCheck.nodeUrl(EvmNetwork.nodeExample),
  channel: OptionCheck.having<ChannelTerms>("a channel's terms, the channelConfig of its payments", "payer", "salt")
}
const stateCheck = OptionCheck.options<StateOptions>(common)
const check = OptionCheck.options<WithdrawOptions>({
  ...common,
  signer: OptionCheck.having("a signer, such as exactEvm.localSigner(privateKey)", "address", "signTransaction"),
  amount: OptionCheck.optional(OptionCheck.amount(1n)),
  maxFeePerGas: OptionCheck.optional(OptionCheck.amount(1n))
})

const decode = Schema.decodeUnknownEffect(ChannelConfig.ChannelConfig)

const connected = Effect.fnUntraced(function* (
  name: string,
  { channel, rpcUrl: url }: StateOptions
): Effect.fn.Return<
  { readonly config: ChannelConfig.ChannelConfig; readonly rpc: EvmRpc.Shape; readonly chainId: number },
  ChainUnavailable | Misconfigured
> {
  const config = yield* Effect.mapError(
    decode(channel),
    ({ message }) => new Misconfigured({ message: `${name}: channel: ${message}` })
  )
  const chainId = yield* (yield* EvmRpc.make({ url, network: "eip155" })).chainId
  const rpc = yield* EvmRpc.make({ url, network: EvmNetwork.fromChainId(chainId) })
  return { config, rpc, chainId }
})

/** The channel's state by the chain. Fails with `Misconfigured` for terms that are no channel's. */
export const state = Effect.fnUntraced(function* (
  options: StateOptions
): Effect.fn.Return<ChannelReading.ChannelReading, ChainUnavailable | Misconfigured> {
  yield* Effect.fromResult(OptionCheck.read(stateCheck, options, "channelEvm.state"))
  const { chainId, config, rpc } = yield* connected("channelEvm.state", options)
  return yield* ChannelReading.read(rpc, ChannelConfig.id(chainId, config))
})

/**
 * Does the next step of a withdrawal and says where it stands; a repeated call is harmless. Fails with `Misconfigured` for an
 * account that is not the payer's side, an amount above what is available, or a transaction that the chain refuses, and with
 * `ChainUnavailable` where the outcome is unknown: call again.
 */
export const withdraw = Effect.fnUntraced(function* (
  options: WithdrawOptions
): Effect.fn.Return<Withdrawal, ChainUnavailable | Misconfigured> {
  yield* Effect.fromResult(OptionCheck.read(check, options, "channelEvm.withdraw"))
  const connection = yield* connected("channelEvm.withdraw", options)
  const { chainId, config, rpc } = connection
  yield* payerSide(config, options.signer)
  const reading = yield* ChannelReading.read(rpc, ChannelConfig.id(chainId, config))
  const step: Step = { ...connection, options, reading }
  if (reading.withdrawal === undefined) return yield* begin(step)
  const { amount, requestedAt } = reading.withdrawal
  const finalizeAfter = requestedAt + config.withdrawDelay
  return reading.block.time < finalizeAfter ? { _tag: "Waiting", amount, finalizeAfter } : yield* end(step)
})

interface Step {
  readonly config: ChannelConfig.ChannelConfig
  readonly rpc: EvmRpc.Shape
  readonly chainId: number
  readonly options: WithdrawOptions
  readonly reading: ChannelReading.ChannelReading
}

const payerSide = (
  { payer, payerAuthorizer }: ChannelConfig.ChannelConfig,
  { address }: EvmTransactionSigner
): Effect.Effect<void, Misconfigured> => {
  const account = EvmAddress.fromText(address)
  if (account !== undefined && (account === payer || account === payerAuthorizer)) return Effect.void
  const message = `channelEvm.withdraw: ${address} cannot withdraw from this channel; its payer ${EvmAddress.checksum(payer)} can, and its payerAuthorizer ${EvmAddress.checksum(payerAuthorizer)}`
  return Effect.fail(new Misconfigured({ message }))
}

const begin = Effect.fnUntraced(function* (step: Step): Effect.fn.Return<Withdrawal, ChainUnavailable | Misconfigured> {
  const { available } = step.reading
  if (available === 0n) return { _tag: "Nothing" }
  const amount = step.options.amount ?? available
  if (amount > available) {
    const message = `channelEvm.withdraw: amount: ${amount} is more than the ${available} that are not claimed`
    return yield* new Misconfigured({ message })
  }
  const { events, transaction } = yield* sent(
    step,
    ChannelCall.initiateWithdraw(step.config, amount),
    "the withdrawal's start"
  )
  for (const event of events) {
    if (event._tag === "WithdrawInitiated") {
      return { _tag: "Begun", amount: event.amount, finalizeAfter: Number(event.finalizeAfter), transaction }
    }
  }
  return yield* unproven(step, transaction)
})

const end = Effect.fnUntraced(function* (step: Step): Effect.fn.Return<Withdrawal, ChainUnavailable | Misconfigured> {
  const { events, transaction } = yield* sent(step, ChannelCall.finalizeWithdraw(step.config), "the withdrawal's end")
  for (const event of events) {
    if (event._tag === "WithdrawFinalized") return { _tag: "Paid", amount: event.amount, transaction }
  }
  return yield* unproven(step, transaction)
})

/** Gas of either step, far above its cost: 70 000, and the token's own transfer. */
const stepGas = 300_000n

/** The channel's events in the transaction of a call. The call is simulated first, so that a refusal costs nothing. */
const sent = Effect.fnUntraced(function* (
  { chainId, options: { maxFeePerGas, signer }, reading: { channelId }, rpc }: Step,
  data: EvmHex.Hex,
  purpose: string
) {
  const call = { to: ChannelContract.address, data, gas: stepGas }
  const outcome = yield* rpc.call({ ...call, from: EvmAddress.fromTail(signer.address) })
  if (outcome._tag !== "Returned") {
    const reason = EvmRevert.fromCall(outcome)
    const said = reason._tag === "Other" ? reason.message : reason._tag
    return yield* new Misconfigured({ message: `channelEvm.withdraw: the chain refuses ${purpose}: ${said}` })
  }
  const receipt = yield* SingleTransaction.send(rpc, chainId, { signer, call, maxFeePerGas, purpose })
  const events = receipt.status === "success" ? receipt.logs.map(ChannelEvent.read) : []
  return {
    events: events.filter((event) => event !== undefined).filter((event) => event.channelId === channelId),
    transaction: receipt.transactionHash
  }
})

/** A transaction that was to move the withdrawal and did not: another one of the payer's side came first. */
const unproven = ({ rpc: { network } }: Step, transaction: string) =>
  Effect.fail(
    new Misconfigured({
      message: `channelEvm.withdraw: transaction ${transaction} on ${network} changed nothing; the channel has changed meanwhile: call again`
    })
  )
