/**
 * A channel's job, tried out on the newest state before anything is signed for it: its success proves signatures, nonces and sums at
 * once. A refusal is confirmed at the newest block seen, so that a lagging node causes none.
 */
import { type ChainUnavailable, type FacilitatorUnavailable } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { CallOutcome } from "../node/EvmNodeError.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmRefusal from "../transfer/EvmRefusal.ts"
import * as EvmRevert from "../transfer/EvmRevert.ts"
import * as ChannelCalls from "./ChannelCalls.ts"
import type { ChannelChain } from "./ChannelChain.ts"
import * as ChannelChecks from "./ChannelChecks.ts"
import type { ChannelJob, ChannelPayment, DepositJob } from "./ChannelJob.ts"
import * as ChannelRefusal from "./ChannelRefusal.ts"

/** The contract's reasons for refusing a row of a claim, or a refund, by the selectors of its errors. */
const reasons: ReadonlyMap<string, string> = new Map([
  ["0xf1789775", "the claim exceeds the voucher"],
  ["0x7d8242b6", "the claim exceeds the channel's balance"],
  ["0x8baa579f", "a signature is not valid"]
])

/** The reason why the contract reverted a call, for people. */
export const reasonOf = ({ data, message }: { readonly data: string; readonly message: string }): string =>
  reasons.get(data.slice(0, 10)) ?? (data === "0x" ? message : data).slice(0, 200)

/** Tries a job. */
export const run = (
  { from, lagGuard: { judge, rpc } }: ChannelChain,
  job: ChannelJob
): Effect.Effect<CallOutcome, ChainUnavailable> => {
  const call = ChannelCalls.ofJob(job)
  return judge(
    (block) => rpc.call({ from, ...call }, block),
    ({ _tag }) => _tag === "Reverted"
  )
}

/** Verifies a job: it would succeed now, and the loss budget allows it. */
export const verify = Effect.fnUntraced(function* (
  chain: ChannelChain,
  payment: ChannelPayment
): Effect.fn.Return<void, ChannelRefusal.ChannelRefusal | ChainUnavailable | FacilitatorUnavailable> {
  const { job, token } = payment.payload
  if (job.kind === "message") return yield* notPlanned
  yield* chain.losses.allow(payment)
  if (job.kind === "deposit") {
    yield* ChannelChecks.window(job, Math.floor((yield* Clock.currentTimeMillis) / 1000))
    yield* chain.prove(token)
    return yield* verifyDeposit(chain, job)
  }
  const outcome = yield* run(chain, job)
  if (outcome._tag === "Returned") return
  const message = `the contract would refuse the ${job.kind}: ${reasonOf(outcome)}`
  return yield* ChannelRefusal.make(`${job.kind}_simulation_failed`, message)
})

const notPlanned = ChannelRefusal.make("payload_type", "the payload is no job of a channel")

/** A deposit of a plain account: the code of another one could tell the trial from the transaction. */
const verifyDeposit = Effect.fnUntraced(function* (
  chain: ChannelChain,
  job: DepositJob
): Effect.fn.Return<void, ChannelRefusal.ChannelRefusal | ChainUnavailable> {
  const { payer } = job.config
  const [code, outcome] = yield* Effect.all([chain.rpc.getCode(payer), run(chain, job)], { concurrency: "unbounded" })
  if (code !== "0x") {
    const message = `the payer ${EvmAddress.checksum(payer)} has code, and deposits by signature are taken from plain accounts alone; ${ChannelChecks.fromCode}`
    return yield* ChannelRefusal.make("receive_authorization_signature", message)
  }
  if (outcome._tag === "Returned") return
  const revert = yield* EvmRevert.explain(outcome)
  const error = EvmRefusal.fromRevert(chain.network, revert)
  if (error._tag === "ChainUnavailable") return yield* error
  if (revert._tag === "InsufficientBalance") return yield* ChannelRefusal.make("insufficient_balance", error.message)
  const reason = error._tag === "ValidationError" ? error.reason : undefined
  return yield* ChannelRefusal.make(
    "deposit_simulation_failed",
    `the contract would refuse the deposit: ${error.message}`,
    reason
  )
})
