/**
 * Reports of jobs that are in a block: what moved by our transaction, and the channel's state as of the newest block seen.
 */
import type { ChainUnavailable, ChannelReport } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as ChannelConfig from "../voucher/ChannelConfig.ts"
import * as ChannelEvent from "../voucher/ChannelEvent.ts"
import type { ChannelChain } from "./ChannelChain.ts"
import { factsOf } from "./ChannelInspection.ts"
import type * as ChannelJob from "./ChannelJob.ts"
import * as ChannelReads from "./ChannelReads.ts"
import * as RefundEvidence from "./RefundEvidence.ts"

/** Reports a job by its transaction; by the chain's state where another party has done it. `failed` are claims beside it. */
export const make = Effect.fnUntraced(function* (
  chain: ChannelChain,
  { payload: { job } }: ChannelJob.ChannelPayment,
  transaction: string,
  failed: ReadonlyArray<ChannelJob.ChannelPayment>
): Effect.fn.Return<ChannelReport, ChainUnavailable> {
  switch (job.kind) {
    case "deposit":
      return {
        payer: EvmAddress.checksum(job.config.payer),
        amount: `${job.authorization.value}`,
        facts: yield* stateOf(chain, job.channelId)
      }
    case "claim": {
      const held = [...job.held, ...failed.flatMap((one) => failedRows(chain, one))]
      const facts = held.length === 0 ? {} : { held: held.map(({ channelId, reason }) => ({ channelId, reason })) }
      return { payer: "", amount: "", facts }
    }
    case "settle": {
      const moved = (yield* logsOf(chain, transaction)).flatMap((log) => ChannelEvent.readSettled(log) ?? [])
      const payout = moved.find(({ receiver, token }) => receiver === job.receiver && token === job.token)
      return { payer: "", amount: `${payout?.amount ?? 0n}`, facts: {} }
    }
    case "refund": {
      const events = (yield* logsOf(chain, transaction)).flatMap((log) => ChannelEvent.read(log) ?? [])
      const refund = events.find((event) => event._tag === "Refunded" && event.channelId === job.channelId)
      const made = refund === undefined ? yield* RefundEvidence.find(chain, job, undefined) : undefined
      return yield* ofRefund(chain, job, refund?.amount ?? (made && RefundEvidence.movedBy(made)) ?? 0n)
    }
    case "message":
      return { payer: "", amount: "", facts: {} }
  }
})

const failedRows = ({ chainId }: ChannelChain, { payload: { job } }: ChannelJob.ChannelPayment) =>
  job.kind !== "claim"
    ? []
    : job.rows.map(({ voucher }) => ({
        channelId: ChannelConfig.id(chainId, voucher.channel),
        reason: "its withdrawal can end, and the transaction of its own did not claim it"
      }))

/** Reports a refund of this amount. */
export const ofRefund = (
  chain: ChannelChain,
  { channelId, config: { payer } }: Pick<ChannelJob.RefundJob, "channelId" | "config">,
  amount: bigint
): Effect.Effect<ChannelReport, ChainUnavailable> =>
  Effect.map(stateOf(chain, channelId), (facts) => ({
    payer: EvmAddress.checksum(payer),
    amount: `${amount}`,
    facts
  }))

const stateOf = ({ lagGuard: { confirm, rpc } }: ChannelChain, channelId: EvmHex.Hex) =>
  Effect.map(
    confirm((block) => ChannelReads.channel(rpc, channelId, block)),
    (state) => ({ channelState: factsOf(channelId, state) })
  )

const logsOf = ({ rpc }: ChannelChain, transaction: string) =>
  transaction === ""
    ? Effect.succeed([])
    : Effect.map(rpc.getTransactionReceipt(EvmHex.fromTrusted(transaction)), (receipt) => receipt?.logs ?? [])
