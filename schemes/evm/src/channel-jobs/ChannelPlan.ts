/**
 * Plans of what a server asks to settle, by the newest state of the chain. A deposit is a job as it came; a payout is one up to the sum
 * that is claimed by now; a refund is one under the channel's own count of refunds, so that the same request is the same job.
 */
import type { ChannelRequest, ChannelStep, JobRecords, SchemeChannels } from "@pontage/core"
import * as Entropy from "@pontage/core/Entropy"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as ChannelConfig from "../voucher/ChannelConfig.ts"
import * as ChannelRefund from "../voucher/ChannelRefund.ts"
import * as ClaimBatch from "../voucher/ClaimBatch.ts"
import * as Voucher from "../voucher/Voucher.ts"
import * as ChannelAuthorizing from "./ChannelAuthorizing.ts"
import type { ChannelChain } from "./ChannelChain.ts"
import * as ChannelChecks from "./ChannelChecks.ts"
import * as ChannelJob from "./ChannelJob.ts"
import type { ChannelMinimum } from "./ChannelMinimum.ts"
import * as ChannelReads from "./ChannelReads.ts"
import * as ChannelRefusal from "./ChannelRefusal.ts"
import * as ChannelReport from "./ChannelReport.ts"
import * as ChannelSimulation from "./ChannelSimulation.ts"
import * as ClaimRows from "./ClaimRows.ts"
import * as IdentifiedRows from "./IdentifiedRows.ts"
import * as JobPayload from "./JobPayload.ts"
import * as RefundEvidence from "./RefundEvidence.ts"
import * as RefundTries from "./RefundTries.ts"

const refuse = (name: ChannelRefusal.Name, message: string) => Effect.fail(ChannelRefusal.make(name, message))

const nothingLeft = (amount: string): ChannelStep => ({ _tag: "Done", report: { payer: "", amount, facts: {} } })

/** Plans a request. A field `job` that came with it counts for nothing. */
export const make =
  (chain: ChannelChain): SchemeChannels["plan"] =>
  (request, recordOf) =>
    Effect.gen(function* () {
      const { assets, chainId, network } = chain
      const payment = yield* ChannelJob.read(network, chainId, assets.find, request.requirements, request.payload)
      const { job, message, token } = payment.payload
      switch (message.type) {
        case "deposit":
          yield* ChannelChecks.config(message.channelConfig, request.requirements)
          if (message.voucher !== undefined) yield* ChannelChecks.voucher(chain, message.channelConfig, message.voucher)
          if (job.kind === "deposit") yield* ChannelChecks.deposit(chain, job, { token })
          return { _tag: "Job", payload: JobPayload.ofDeposit(message) } satisfies ChannelStep
        case "claim":
          return yield* claim(chain, request, message, chain.least(token, request.isOwn))
        case "settle":
          return yield* settle(chain, message, chain.least(token, request.isOwn))
        case "refund":
          return yield* refund(chain, request, message, { recordOf, least: chain.least(token, request.isOwn) })
        case "voucher":
          return yield* refuse("payload_type", "a voucher alone moves nothing on the chain: claim it")
      }
    })

/** Seconds for which a claim and a payout may wait for their transaction. */
const patienceSeconds = 3_600

/** A name of its own, and the end of its validity. */
const newJob = Effect.gen(function* () {
  const entropy = yield* Entropy.Entropy
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  return { id: EvmHex.fromBytes(entropy.bytes(32)), until: now + patienceSeconds }
})

const claim = Effect.fnUntraced(function* (
  chain: ChannelChain,
  asked: ChannelRequest,
  message: JobPayload.Claim,
  least: ChannelMinimum
) {
  const rows = yield* IdentifiedRows.make(chain.chainId, message.claims)
  const authority = yield* ChannelAuthorizing.ofClaims(chain, asked, rows, message.claimAuthorizerSignature)
  const found = yield* ClaimRows.claimable(chain, rows, authority, least)
  if (found === undefined) return nothingLeft("")
  const [payload, ...apart] = yield* Effect.forEach([found, ...found.apart], ({ rows: part, signature }, index) =>
    Effect.map(newJob, (job) => ({
      type: "claim",
      claims: part.map(({ row }) => ClaimBatch.onWire(row)),
      claimAuthorizerSignature: signature,
      job: {
        ...job,
        held: index === 0 ? found.held.map(({ channelId, reason }) => ({ channelId, reason })) : []
      }
    }))
  )
  return payload === undefined ? nothingLeft("") : ({ _tag: "Job", payload, apart } satisfies ChannelStep)
})

const settle = Effect.fnUntraced(function* (
  chain: ChannelChain,
  { receiver, token }: JobPayload.Settle,
  least: ChannelMinimum
) {
  const { confirm, rpc } = chain.lagGuard
  const { claimed, settled } = yield* confirm((block) => ChannelReads.receiver(rpc, receiver, token, block))
  if (claimed <= settled) return nothingLeft("0")
  const outcome = yield* ChannelSimulation.run(chain, { kind: "settle", receiver, token, upTo: claimed })
  if (outcome._tag === "Reverted") {
    const message = `the contract would refuse to pay ${EvmAddress.checksum(receiver)}: ${ChannelSimulation.reasonOf(outcome)}; what is claimed stays claimed`
    return yield* refuse("settle_simulation_failed", message)
  }
  const now = yield* Clock.currentTimeMillis
  const low = least.payout(receiver, { unpaid: claimed - settled, upTo: claimed, now })
  if (low !== undefined) return yield* low
  return {
    _tag: "Job",
    payload: {
      type: "settle",
      receiver: EvmAddress.checksum(receiver),
      token: EvmAddress.checksum(token),
      job: { ...(yield* newJob), upTo: `${claimed}` }
    }
  } satisfies ChannelStep
})

const refund = Effect.fnUntraced(function* (
  chain: ChannelChain,
  asked: ChannelRequest,
  message: JobPayload.Refund,
  { least, recordOf }: { readonly least: ChannelMinimum; readonly recordOf: JobRecords }
) {
  const { amount, channelConfig: config, claims = [], refundNonce: nonce, voucher } = message
  if (amount === undefined || nonce === undefined) {
    return yield* refuse("refund_payload", "a refund is settled with its amount, refundNonce and claims")
  }
  if (amount === 0n) return yield* refuse("refund_amount_invalid", "the refund is of nothing")
  const { chainId } = chain
  const channelId = ChannelConfig.id(chainId, config)
  const rows = claims.length === 0 ? [] : yield* IdentifiedRows.make(chainId, claims)
  if (rows.some((row) => row.channelId !== channelId)) {
    return yield* refuse("refund_payload", "the refund's claims are of other channels than the refunded one")
  }
  yield* ClaimRows.demandValid(chain, rows)
  const terms = { channelId, nonce, amount }
  const digest = ChannelRefund.digest(chainId, terms, chain.callContext.crypto.keccak256)
  const signature = yield* ChannelAuthorizing.signed(
    chain,
    { asked, authorizer: config.receiverAuthorizer, digest, data: ChannelRefund.typedData(chainId, terms) },
    message.refundAuthorizerSignature
  )
  const claimSignature =
    rows.length === 0
      ? undefined
      : yield* (yield* ChannelAuthorizing.ofClaims(chain, asked, rows, message.claimAuthorizerSignature)).sign(rows)
  const payload = {
    type: "refund",
    channelConfig: ChannelConfig.onWire(config),
    voucher: Voucher.onWire(voucher),
    amount: `${amount}`,
    refundNonce: `${nonce}`,
    claims: claims.map((row) => ClaimBatch.onWire(row)),
    refundAuthorizerSignature: signature,
    ...(claimSignature !== undefined && { claimAuthorizerSignature: claimSignature })
  }
  const tries = yield* RefundTries.find(chain, terms, (job) => recordOf({ ...payload, job }))
  const step = { _tag: "Job", payload: { ...payload, job: tries.job } } satisfies ChannelStep
  return tries.isKnown
    ? step
    : ((yield* madeBefore(chain, config, terms)) ?? (yield* withMoney(chain, terms, { rows, least }, step)))
})

/** A refund that the chain shows, and no job on record: another party has sent it, or the records were lost. */
const madeBefore = Effect.fnUntraced(function* (
  chain: ChannelChain,
  config: ChannelConfig.ChannelConfig,
  { amount, channelId, nonce }: ChannelRefund.ChannelRefund
) {
  const made = yield* RefundEvidence.find(chain, { channelId, nonce }, undefined)
  if (made === undefined) return undefined
  const moved = RefundEvidence.movedBy(made)
  if (made.log !== undefined && moved <= amount) {
    const report = yield* ChannelReport.ofRefund(chain, { channelId, config }, moved)
    return { _tag: "Done", report } satisfies ChannelStep
  }
  const message = `the channel's refund ${nonce} is made already, and it is not this one; read the channel's refundNonce and ask again`
  return yield* refuse("refund_simulation_failed", message)
})

/**
 * The step, if the channel has money for it. The rest alone is refunded by the contract; behind claims an amount above the rest is
 * refused, because whoever sees the transaction may send the refund without the claims, which the rest then lacks.
 */
const withMoney = Effect.fnUntraced(function* (
  { lagGuard: { confirm, rpc } }: ChannelChain,
  { amount, channelId }: ChannelRefund.ChannelRefund,
  { least, rows }: { readonly rows: ReadonlyArray<IdentifiedRows.IdentifiedRow>; readonly least: ChannelMinimum },
  step: ChannelStep
) {
  const state = yield* confirm((block) => ChannelReads.channel(rpc, channelId, block))
  const claimed = rows.reduce((most, { row }) => (row.totalClaimed > most ? row.totalClaimed : most), state.claimed)
  if (state.balance <= claimed) {
    const message = `the channel holds ${state.balance}, of which ${claimed} are claimed: nothing is left to refund`
    return yield* refuse("refund_no_balance", message)
  }
  const rest = state.balance - claimed
  if (claimed > state.claimed && amount > rest) {
    const message = `the refund is of ${amount}, the channel's rest beside the claims is ${rest}; ask for that at most, or claim first`
    return yield* refuse("refund_amount_invalid", message)
  }
  const low = least.refund(claimed - state.claimed + (amount < rest ? amount : rest), amount >= rest)
  return low === undefined ? step : yield* low
})
