/**
 * The scheme facilitator of `batch-settlement` on EVM: payment channels of the contract that every chain has at the same address. Its
 * payments are the jobs of channels (`ChannelJob`), one a transaction.
 */
import { ChainUnavailable, type FacilitatorScheme, type Payment, type SchemeFacilitator } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmLane from "../exact/EvmLane.ts"
import * as ExactEvmPreparation from "../exact/ExactEvmPreparation.ts"
import * as EvmTime from "../node/EvmTime.ts"
import { scheme } from "../payment/ChannelScheme.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmSpendLimits from "../sending/EvmSpendLimits.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as ChannelCalls from "./ChannelCalls.ts"
import { type ChannelChain, connect } from "./ChannelChain.ts"
import * as ChannelDrawing from "./ChannelDrawing.ts"
import * as ChannelEvidence from "./ChannelEvidence.ts"
import * as ChannelInspection from "./ChannelInspection.ts"
import * as ChannelJob from "./ChannelJob.ts"
import type { Options } from "./ChannelOptions.ts"
import * as ChannelPlan from "./ChannelPlan.ts"
import * as ChannelReport from "./ChannelReport.ts"
import * as ChannelSimulation from "./ChannelSimulation.ts"

/**
 * Makes the scheme facilitator. It checks first that the RPC serves the network, that the network has the contract of channels, and
 * that the signers are plain accounts.
 */
export const facilitator = (options: Options): FacilitatorScheme => Effect.map(connect(options), schemeFacilitator)

const schemeFacilitator = (chain: ChannelChain): SchemeFacilitator<ChannelJob.ChannelWork> => {
  const { assets, authorizer, chainHead, chainId, network, rpc, signers } = chain
  const draws = ChannelDrawing.make(chain)
  const extra = authorizer && { extra: { receiverAuthorizer: EvmAddress.checksum(authorizer.address) } }
  return {
    scheme,
    network,
    lanes: [...signers.keys()],
    ...extra,
    gasCeiling: EvmSpendLimits.gasCeiling(network),
    channels: {
      inspect: ChannelInspection.make(chain),
      takesTurns: ({ payload }) => isWork(payload) && payload.message.type !== "deposit",
      plan: ChannelPlan.make(chain),
      ...(draws && { draws }),
      report: (payment, transaction, failed) => {
        const [job, ...others] = [payment, ...failed].flatMap((one) =>
          isWork(one.payload) ? [{ ...one, payload: one.payload }] : []
        )
        return job === undefined
          ? Effect.succeed({ payer: "", amount: "", facts: {} })
          : ChannelReport.make(chain, job, transaction, others)
      }
    },
    read: (requirements, json) => ChannelJob.read(network, chainId, assets.find, requirements, json),
    recall: (requirements, json) => ChannelJob.read(network, chainId, EvmAsset.retired, requirements, json),
    verify: (payment) => ChannelSimulation.verify(chain, payment),
    balance: ({ payload }) => balance(chain, payload),
    nextSlot: (lane, counting) => EvmLane.nextSlot(chain, lane, counting),
    time: EvmTime.make(rpc),
    chainHead,
    isCanonical: (block) => EvmLane.isCanonical(rpc, block),
    prepare: (payments, slot, head, _maximumCost, replaced) =>
      replaced === undefined
        ? ExactEvmPreparation.prepare(chain, callOf, payments.slice(0, 1), slot, head)
        : ExactEvmPreparation.prepareReplacement(chain, payments, slot, head, replaced),
    release: (payments) => ExactEvmPreparation.release(chain, payments),
    noop: (slot, head) => ExactEvmPreparation.noop(chain, slot, head),
    submit: (prepared) => EvmLane.submit(rpc, prepared),
    observe: (observedPayments, attempts) => ChannelEvidence.observe(chain, observedPayments, attempts),
    conclude: (observed) => ChannelEvidence.conclude(chain, observed),
    signers: EvmLane.balances(chain)
  }
}

/** The engine holds payments of all schemes; those of this one are read here. */
const isWork = (payload: unknown): payload is ChannelJob.ChannelWork =>
  typeof payload === "object" && payload !== null && "message" in payload && "job" in payload

/** The call of a job. Each has a transaction of its own. */
const callOf = ({ payload: { job } }: Payment<ChannelJob.ChannelWork>) =>
  job.kind === "message"
    ? Effect.die("a message that is no job was to be sent")
    : Effect.succeed({ ...ChannelCalls.ofJob(job), payer: EvmAddress.zero, isByKey: false, plain: undefined })

/** A deposit takes of its payer's balance; the other jobs take nothing of it. */
const balance = Effect.fnUntraced(function* (
  { lagGuard: { judge, rpc } }: ChannelChain,
  { job }: ChannelJob.ChannelWork
): Effect.fn.Return<bigint, ChainUnavailable> {
  if (job.kind !== "deposit") return 0n
  const data: EvmHex.Hex = `0x70a08231${job.config.payer.slice(2).padStart(64, "0")}`
  const outcome = yield* judge(
    (block) => rpc.call({ to: job.config.token, data, gas: 100_000n }, block),
    (answer) =>
      answer._tag === "Returned" && EvmHex.isBytes32(answer.data) && BigInt(answer.data) < job.authorization.value
  )
  if (outcome._tag === "Returned" && EvmHex.isBytes32(outcome.data)) return BigInt(outcome.data)
  const message = `the token ${EvmAddress.checksum(job.config.token)} returned no valid amount from balanceOf`
  return yield* new ChainUnavailable({ network: rpc.network, message })
})
