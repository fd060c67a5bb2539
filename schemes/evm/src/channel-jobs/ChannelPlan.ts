/**
 * Plans of what a server asks to settle, by the newest state of the chain. A deposit is a job as it came; a payout is one up to the sum
 * that is claimed by now; a refund is one under the channel's own count of refunds, so that the same request is the same job.
 */
import type { ChannelRequest, ChannelStep, SchemeChannels } from "@pontage/core"
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
import * as ChannelReads from "./ChannelReads.ts"
import * as ChannelRefusal from "./ChannelRefusal.ts"
import * as ChannelSimulation from "./ChannelSimulation.ts"
import * as ClaimRows from "./ClaimRows.ts"
import * as IdentifiedRows from "./IdentifiedRows.ts"
import * as JobPayload from "./JobPayload.ts"

const refuse = (name: ChannelRefusal.Name, message: string) => Effect.fail(ChannelRefusal.make(name, message))

const nothingLeft = (amount: string): ChannelStep => ({ _tag: "Done", report: { payer: "", amount, facts: {} } })

/** Plans a request. A field `job` that came with it counts for nothing. */
export const make =
  (chain: ChannelChain): SchemeChannels["plan"] =>
  (request) =>
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
          return yield* claim(chain, request, message)
        case "settle":
          return yield* settle(chain, message)
        case "refund":
          return yield* refund(chain, request, message)
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

const claim = Effect.fnUntraced(function* (chain: ChannelChain, { caller }: ChannelRequest, message: JobPayload.Claim) {
  const rows = yield* IdentifiedRows.make(chain.chainId, message.claims)
  const authority = yield* ChannelAuthorizing.ofClaims(chain, caller, rows, message.claimAuthorizerSignature)
  const found = yield* ClaimRows.claimable(chain, rows, authority)
  if (found === undefined) return nothingLeft("")
  const { held, signature } = found
  return {
    _tag: "Job",
    payload: {
      type: "claim",
      claims: found.rows.map(({ row }) => ClaimBatch.onWire(row)),
      claimAuthorizerSignature: signature,
      job: { ...(yield* newJob), held: held.map(({ channelId, reason }) => ({ channelId, reason })) }
    }
  } satisfies ChannelStep
})

const settle = Effect.fnUntraced(function* (chain: ChannelChain, { receiver, token }: JobPayload.Settle) {
  const { confirm, rpc } = chain.lagGuard
  const { claimed, settled } = yield* confirm((block) => ChannelReads.receiver(rpc, receiver, token, block))
  if (claimed <= settled) return nothingLeft("0")
  const outcome = yield* ChannelSimulation.run(chain, { kind: "settle", receiver, token, upTo: claimed })
  if (outcome._tag === "Reverted") {
    const message = `the contract would refuse to pay ${EvmAddress.checksum(receiver)}: ${ChannelSimulation.reasonOf(outcome)}; what is claimed stays claimed`
    return yield* refuse("settle_simulation_failed", message)
  }
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

/** Half a day: a refund's end of validity is one of its multiples, so that a repeated request is the same job. */
const halfDay = 43_200

const refund = Effect.fnUntraced(function* (
  chain: ChannelChain,
  { caller }: ChannelRequest,
  message: JobPayload.Refund
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
    { caller, authorizer: config.receiverAuthorizer, digest, data: ChannelRefund.typedData(chainId, terms) },
    message.refundAuthorizerSignature
  )
  const claimSignature =
    rows.length === 0
      ? undefined
      : yield* (yield* ChannelAuthorizing.ofClaims(chain, caller, rows, message.claimAuthorizerSignature)).sign(rows)
  yield* demandMoney(chain, channelId, nonce, rows)
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const id = chain.callContext.crypto.keccak256(EvmHex.toBytes(`0x${channelId.slice(2)}${EvmHex.toWord(nonce)}`))
  return {
    _tag: "Job",
    payload: {
      type: "refund",
      channelConfig: ChannelConfig.onWire(config),
      voucher: Voucher.onWire(voucher),
      amount: `${amount}`,
      refundNonce: `${nonce}`,
      claims: claims.map((row) => ClaimBatch.onWire(row)),
      refundAuthorizerSignature: signature,
      ...(claimSignature !== undefined && { claimAuthorizerSignature: claimSignature }),
      job: { id: EvmHex.fromBytes(id), until: (Math.floor(now / halfDay) + 2) * halfDay }
    }
  } satisfies ChannelStep
})

/** A channel without money beyond its claims has nothing to refund. One whose count has passed may have been refunded by this very job. */
const demandMoney = Effect.fnUntraced(function* (
  { lagGuard: { confirm, rpc } }: ChannelChain,
  channelId: EvmHex.Hex,
  nonce: bigint,
  rows: ReadonlyArray<IdentifiedRows.IdentifiedRow>
) {
  const state = yield* confirm((block) => ChannelReads.channel(rpc, channelId, block))
  if (state.refundNonce > nonce) return
  const claimed = rows.reduce((most, { row }) => (row.totalClaimed > most ? row.totalClaimed : most), state.claimed)
  if (state.balance <= claimed) {
    const message = `the channel holds ${state.balance}, of which ${claimed} are claimed: nothing is left to refund`
    yield* refuse("refund_no_balance", message)
  }
})
