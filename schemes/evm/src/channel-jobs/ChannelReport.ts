/**
 * Reports of jobs that are in a block: what moved by our transaction, and the channel's state as of the newest block seen.
 */
import type { ChainUnavailable, ChannelReport } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as ChannelEvent from "../voucher/ChannelEvent.ts"
import type { ChannelChain } from "./ChannelChain.ts"
import { factsOf } from "./ChannelInspection.ts"
import type * as ChannelJob from "./ChannelJob.ts"
import * as ChannelReads from "./ChannelReads.ts"

/** Reports a job by its transaction; empty where another party has done it. */
export const make = Effect.fnUntraced(function* (
  chain: ChannelChain,
  { payload: { job } }: ChannelJob.ChannelPayment,
  transaction: string
): Effect.fn.Return<ChannelReport, ChainUnavailable> {
  switch (job.kind) {
    case "deposit":
      return {
        payer: EvmAddress.checksum(job.config.payer),
        amount: `${job.authorization.value}`,
        facts: yield* stateOf(chain, job.channelId)
      }
    case "claim":
      return {
        payer: "",
        amount: "",
        facts: job.held.length === 0 ? {} : { held: job.held.map(({ channelId, reason }) => ({ channelId, reason })) }
      }
    case "settle": {
      const moved = (yield* logsOf(chain, transaction)).flatMap((log) => ChannelEvent.readSettled(log) ?? [])
      const payout = moved.find(({ receiver, token }) => receiver === job.receiver && token === job.token)
      return { payer: "", amount: `${payout?.amount ?? 0n}`, facts: {} }
    }
    case "refund": {
      const events = (yield* logsOf(chain, transaction)).flatMap((log) => ChannelEvent.read(log) ?? [])
      const refund = events.find((event) => event._tag === "Refunded" && event.channelId === job.channelId)
      return {
        payer: EvmAddress.checksum(job.config.payer),
        amount: `${refund?.amount ?? 0n}`,
        facts: yield* stateOf(chain, job.channelId)
      }
    }
    case "message":
      return { payer: "", amount: "", facts: {} }
  }
})

const stateOf = ({ lagGuard: { confirm, rpc } }: ChannelChain, channelId: EvmHex.Hex) =>
  Effect.map(
    confirm((block) => ChannelReads.channel(rpc, channelId, block)),
    (state) => ({ channelState: factsOf(channelId, state) })
  )

const logsOf = ({ rpc }: ChannelChain, transaction: string) =>
  transaction === ""
    ? Effect.succeed([])
    : Effect.map(rpc.getTransactionReceipt(EvmHex.fromTrusted(transaction)), (receipt) => receipt?.logs ?? [])
