/**
 * Verification of a payer's message: signatures first, then one look at the channel on the chain. The balance of a deposit counts only
 * beside it, and nothing counts that the payer may take back: while a withdrawal is pending no voucher is taken.
 */
import type { ChainUnavailable, SchemeChannels } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as EvmTokenState from "../evidence/EvmTokenState.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import * as ChannelConfig from "../voucher/ChannelConfig.ts"
import type { ChannelChain } from "./ChannelChain.ts"
import * as ChannelChecks from "./ChannelChecks.ts"
import * as ChannelJob from "./ChannelJob.ts"
import * as ChannelReads from "./ChannelReads.ts"
import * as ChannelRefusal from "./ChannelRefusal.ts"
import * as ChannelSimulation from "./ChannelSimulation.ts"
import * as JobPayload from "./JobPayload.ts"

/** The state of a channel in the words of the wire. */
export const factsOf = (channelId: EvmHex.Hex, state: ChannelReads.OnChain) => ({
  channelId,
  balance: `${state.balance}`,
  totalClaimed: `${state.claimed}`,
  withdrawRequestedAt: state.withdrawRequestedAt,
  refundNonce: `${state.refundNonce}`
})

/** Verifies a message. */
export const make =
  (chain: ChannelChain): SchemeChannels["inspect"] =>
  (request, recordOf) =>
    Effect.gen(function* () {
      const { assets, chainId, network } = chain
      const payment = yield* ChannelJob.read(network, chainId, assets.find, request.requirements, request.payload)
      const { job, message, token } = payment.payload
      if (message.type === "claim" || message.type === "settle" || message.voucher === undefined)
        return yield* noVoucher
      const { channelConfig: config, voucher } = message
      yield* ChannelChecks.config(config, request.requirements)
      yield* ChannelChecks.voucher(chain, config, voucher)
      const channelId = ChannelConfig.id(chainId, config)
      const wanted = { channelId, maximum: voucher.maxClaimableAmount, type: message.type }
      const payer = EvmAddress.checksum(config.payer)
      if (job.kind !== "deposit" || message.type !== "deposit")
        return { payer, facts: factsOf(channelId, yield* demand(chain, wanted)) }
      yield* ChannelChecks.deposit(chain, job, { token })
      if ((yield* recordOf(JobPayload.ofDeposit(message))) === "kept") {
        return { payer, facts: factsOf(channelId, yield* demandBeside(chain, wanted, job)) }
      }
      yield* ChannelChecks.window(job, Math.floor((yield* Clock.currentTimeMillis) / 1000))
      const state = yield* demand(chain, { ...wanted, deposit: job.authorization.value })
      yield* ChannelSimulation.verify(chain, { ...payment, caller: request.caller })
      return { payer, facts: factsOf(channelId, state) }
    })

const noVoucher = ChannelRefusal.make(
  "payload_type",
  "only what a payer signs is verified: a deposit, a voucher or the request for a refund"
)

/** A voucher to judge by the chain, and the deposit that comes with it. */
interface Wanted {
  readonly channelId: EvmHex.Hex
  readonly maximum: bigint
  readonly type: "deposit" | "voucher" | "refund"
  readonly deposit?: bigint
}

type Judged = Effect.Effect<ChannelReads.OnChain, ChannelRefusal.ChannelRefusal | ChainUnavailable>

const demand = ({ lagGuard: { judge, rpc } }: ChannelChain, wanted: Wanted): Judged =>
  Effect.flatMap(
    judge(
      (block) => ChannelReads.channel(rpc, wanted.channelId, block),
      (state) => refusalOf(wanted, state) !== undefined
    ),
    (state) => orRefused(wanted, state)
  )

/** A deposit on record counts beside the balance until the token shows that it was made. */
const demandBeside = (
  { lagGuard: { confirm, rpc } }: ChannelChain,
  wanted: Wanted,
  job: ChannelJob.DepositJob
): Judged =>
  Effect.flatMap(
    confirm((block) =>
      Effect.all([
        ChannelReads.channel(rpc, wanted.channelId, block),
        EvmTokenState.hasEnded(rpc, ChannelJob.transferOf(job), block)
      ])
    ),
    ([state, isMade]) => orRefused(isMade ? wanted : { ...wanted, deposit: job.authorization.value }, state)
  )

const orRefused = (wanted: Wanted, state: ChannelReads.OnChain): Judged => {
  const refusal = refusalOf(wanted, state)
  return refusal === undefined ? Effect.succeed(state) : Effect.fail(refusal)
}

const refusalOf = (
  { channelId, deposit = 0n, maximum, type }: Wanted,
  { balance, claimed, withdrawRequestedAt }: ChannelReads.OnChain
): ChannelRefusal.ChannelRefusal | undefined => {
  if (balance + deposit === 0n) {
    return ChannelRefusal.make("channel_not_found", `the channel ${channelId} holds nothing; deposit first`)
  }
  if (withdrawRequestedAt !== 0 && type !== "refund") {
    const message = `a withdrawal from the channel is pending since ${withdrawRequestedAt}, so no voucher counts; finish it, or open another channel`
    return ChannelRefusal.make("cumulative_exceeds_balance", message)
  }
  if (maximum > balance + deposit) {
    const message = `the voucher is for ${maximum} in all, the channel holds ${balance + deposit}`
    return ChannelRefusal.make("cumulative_exceeds_balance", message)
  }
  if (type === "refund" ? maximum < claimed : maximum <= claimed) {
    const message = `the voucher is for ${maximum} in all, ${claimed} are claimed already`
    return ChannelRefusal.make("cumulative_below_claimed", message)
  }
  return undefined
}
