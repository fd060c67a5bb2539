/**
 * The ends of a channel's jobs, as the chain proves them. A deposit is proven by the token's own events, as a payment is: its nonce is
 * made of the channel's id, and only the contract's collector may submit it. A claim and a payout are proven by the contract's sums,
 * which only rise; a refund by the contract's count of refunds.
 */
import {
  type ChainUnavailable,
  type Conclusion,
  type ObservedPayment,
  OwnTransfer,
  type PaymentError,
  type PaymentObservation,
  type PreparedTransaction,
  type TransactionObservation,
  type ValidationError
} from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmConclusion from "../evidence/EvmConclusion.ts"
import type { SoughtPayment } from "../evidence/EvmMissingTransfers.ts"
import * as EvmObservation from "../evidence/EvmObservation.ts"
import * as EvmTransferEvidence from "../evidence/EvmTransferEvidence.ts"
import type * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as ChannelConfig from "../voucher/ChannelConfig.ts"
import * as ChannelEvent from "../voucher/ChannelEvent.ts"
import * as ChannelCalls from "./ChannelCalls.ts"
import type { ChannelChain } from "./ChannelChain.ts"
import * as ChannelJob from "./ChannelJob.ts"
import * as ChannelReads from "./ChannelReads.ts"
import * as ChannelRefusal from "./ChannelRefusal.ts"
import * as RefundEvidence from "./RefundEvidence.ts"

type Observed = ObservedPayment<ChannelJob.ChannelWork>

const pending: PaymentObservation = { _tag: "Pending" }

/** Observes a transaction, which does one job. */
export const observe = Effect.fnUntraced(function* (
  chain: ChannelChain,
  observedPayments: ReadonlyArray<Observed>,
  attempts: ReadonlyArray<PreparedTransaction>
): Effect.fn.Return<TransactionObservation, ChainUnavailable> {
  const deposits = observedPayments.flatMap((one) => soughtOf(chain, one) ?? [])
  if (deposits.length === observedPayments.length) {
    return yield* observeDeposits(chain, observedPayments, deposits, attempts)
  }
  const included = yield* EvmObservation.includedOf(chain.rpc, attempts, observedPayments.length)
  if (included === undefined) return { inclusion: undefined, observations: observedPayments.map(() => pending) }
  const observations = yield* Effect.forEach(observedPayments, (one) => outcomeOf(chain, one, included))
  return { inclusion: included.inclusion, observations }
})

const observeDeposits = Effect.fnUntraced(function* (
  chain: ChannelChain,
  observedPayments: ReadonlyArray<Observed>,
  sought: ReadonlyArray<SoughtPayment>,
  attempts: ReadonlyArray<PreparedTransaction>
) {
  const { against, inclusion, lost, observations } = yield* EvmObservation.observe(chain, sought, attempts)
  yield* Effect.forEach(
    observedPayments,
    ({ payment }, index) => {
      if (observations[index]?._tag === "Settled") return chain.losses.settle(payment)
      const error = against[index]
      return error === undefined ? chain.losses.absolve(payment) : chain.losses.lose(payment, error, lost)
    },
    { discard: true }
  )
  return { inclusion, observations: observations.map(inOwnWords) }
})

type Seen = TransactionObservation["observations"][number]

/** The money of a deposit is in the channel that it was signed for, whichever account has sent it. */
const inOwnWords = (observation: Seen): Seen => {
  if (observation._tag === "Settled") return { ...observation, external: false }
  return observation._tag === "Failed" ? { ...observation, error: depositFailed(observation.error) } : observation
}

const depositFailed = (error: PaymentError | ValidationError) =>
  ChannelRefusal.make(
    "deposit_transaction_failed",
    `the deposit was not made: ${error.message}`,
    error._tag === "ValidationError" ? error.reason : undefined
  )

/** A deposit as the evidence of transfers looks for it; `undefined` for another job. */
const soughtOf = (chain: ChannelChain, observed: Observed): SoughtPayment | undefined => {
  const { earliest, payment, since, unprepared } = observed
  const { job } = payment.payload
  if (job.kind !== "deposit") return undefined
  const call = { ...ChannelCalls.ofJob(job), payer: job.config.payer, isByKey: true, plain: undefined }
  return {
    expected: ChannelJob.transferOf(job),
    since,
    isOwn: (block, byUs) => OwnTransfer.isOwn(observed, block, byUs),
    isOurs: (sender, time) =>
      sender !== undefined &&
      OwnTransfer.isSigner(observed, chain.signers, EvmAddress.checksum(sender)) &&
      OwnTransfer.isSince(observed, time),
    call: Effect.succeed(call),
    ...(unprepared === true && earliest !== undefined && { earliest })
  }
}

type Included = NonNullable<Effect.Success<ReturnType<typeof EvmObservation.includedOf>>>

type Settled = Extract<PaymentObservation, { readonly _tag: "Settled" }>

/** The outcome of a claim, a payout or a refund whose transaction is included. */
const outcomeOf = Effect.fnUntraced(function* (
  chain: ChannelChain,
  observed: Observed,
  included: Included
): Effect.fn.Return<PaymentObservation, ChainUnavailable> {
  const { payment } = observed
  const { job } = payment.payload
  const { inclusion, isNoop, receipt } = included
  const end = yield* endOf(chain, observed, included)
  if (end?._tag === "Settled") yield* chain.losses.settle(payment)
  if (end !== undefined) return end
  if (isNoop || receipt.status === "success" || job.kind === "message" || job.kind === "deposit") return pending
  const message = `the transaction of the ${job.kind} reverted, although its trial had succeeded; send the request again`
  const error = ChannelRefusal.make(`${job.kind}_transaction_failed`, message)
  yield* chain.losses.lose(payment, error, inclusion.cost)
  // A refund that a reorganisation includes after all would leave its shop with too high a balance; the others may be repeated.
  const isProven = job.kind !== "refund" || receipt.blockNumber <= (yield* chain.chainHead).final
  return isProven ? EvmTransferEvidence.failed(receipt.transactionHash, error) : pending
})

/** The proof that a job is done, by our transaction or by another; `undefined` if the chain shows that it is not. */
const endOf = Effect.fnUntraced(function* (
  chain: ChannelChain,
  { payment: { payload }, since }: Observed,
  { isNoop, receipt }: Included
): Effect.fn.Return<PaymentObservation | undefined, ChainUnavailable> {
  const { job } = payload
  const own = EvmTransferEvidence.settled(receipt, false)
  const isSuccess = receipt.status === "success"
  if (isSuccess && showsIn(chain, job, receipt.logs)) return own
  if (job.kind !== "refund") return (yield* isDone(chain, job, receipt.blockNumber)) ? own : undefined
  const made = yield* RefundEvidence.find(chain, job, since)
  if (made === undefined) return undefined
  const shown = settledBy(made)
  if (shown !== undefined) return shown
  // Our own refund was included when nothing was left of the channel: it has moved nothing, and its place is used.
  const isCertain = (isSuccess && !isNoop) || receipt.blockNumber <= (yield* chain.chainHead).final
  return isCertain ? own : pending
})

/** The proof by the event of a refund, whoever has sent it. */
const settledBy = ({ log }: RefundEvidence.Made): Settled | undefined =>
  log && {
    _tag: "Settled",
    transaction: log.transactionHash,
    block: { number: log.blockNumber, hash: log.blockHash },
    external: false
  }

/** Whether the logs of a transaction show a job: each row's claim, the payout, or the refund. */
const showsIn = (
  { chainId }: ChannelChain,
  job: ChannelJob.ChannelJob | ChannelJob.Unplanned,
  logs: ReadonlyArray<EvmRpc.Event>
): boolean => {
  const events = logs.flatMap((log) => ChannelEvent.read(log) ?? [])
  switch (job.kind) {
    case "claim":
      return job.rows.every(({ totalClaimed, voucher }) => {
        const channelId = ChannelConfig.id(chainId, voucher.channel)
        return events.some(
          (event) => event._tag === "Claimed" && event.channelId === channelId && event.total >= totalClaimed
        )
      })
    case "settle":
      return logs.some((log) => {
        const payout = ChannelEvent.readSettled(log)
        return payout !== undefined && payout.receiver === job.receiver && payout.token === job.token
      })
    case "refund":
      return events.some((event) => event._tag === "Refunded" && event.channelId === job.channelId)
    case "deposit":
    case "message":
      return false
  }
}

/** Whether the contract's sums as of a block show a job as done, whoever has sent it. A refund shows in its count alone. */
const isDone = (
  { chainId, rpc }: ChannelChain,
  job: ChannelJob.ChannelJob | ChannelJob.Unplanned,
  block: bigint
): Effect.Effect<boolean, ChainUnavailable> => {
  switch (job.kind) {
    case "claim": {
      const ids = job.rows.map(({ voucher }) => ChannelConfig.id(chainId, voucher.channel))
      return Effect.map(ChannelReads.channels(rpc, ids, block), (states) =>
        job.rows.every(({ totalClaimed }, index) => totalClaimed <= (states[index]?.claimed ?? -1n))
      )
    }
    case "settle":
      return Effect.map(
        ChannelReads.receiver(rpc, job.receiver, job.token, block),
        ({ settled }) => settled >= job.upTo
      )
    case "deposit":
    case "message":
    case "refund":
      return Effect.succeed(false)
  }
}

/** Concludes a job whose transaction is in no block: the chain shows it as done, or its validity is over at a final block. */
export const conclude = Effect.fnUntraced(function* (
  chain: ChannelChain,
  observed: Observed
): Effect.fn.Return<Conclusion, ChainUnavailable> {
  const sought = soughtOf(chain, observed)
  if (sought !== undefined) {
    const conclusion = yield* EvmConclusion.conclude(chain.lagGuard, chain.chainHead, sought)
    if (conclusion._tag === "Settled") return { ...conclusion, external: false }
    return conclusion._tag === "Unused" && conclusion.reason !== undefined
      ? { ...conclusion, reason: depositFailed(conclusion.reason) }
      : conclusion
  }
  const { authorization } = observed.payment
  const { rpc } = chain.lagGuard
  const done = yield* doneBy(chain, observed)
  if (done !== undefined) return done
  const final = yield* rpc.getBlock((yield* chain.chainHead).final)
  return final !== undefined && final.timestamp >= BigInt(authorization.validBefore)
    ? { _tag: "Unused", at: { number: final.number, hash: final.hash } }
    : { _tag: "Pending" }
})

/** The proof of a claim, a payout or a refund by the newest state. */
const doneBy = Effect.fnUntraced(function* (
  chain: ChannelChain,
  { payment: { payload }, since }: Observed
): Effect.fn.Return<Conclusion | undefined, ChainUnavailable> {
  const { job } = payload
  const { confirm, rpc } = chain.lagGuard
  const made = job.kind === "refund" ? yield* RefundEvidence.find(chain, job, since) : undefined
  const shown = made && settledBy(made)
  if (shown !== undefined) return shown
  const newest =
    made?.block ?? (yield* confirm((block) => Effect.map(isDone(chain, job, block), (is) => (is ? block : undefined))))
  if (newest === undefined) return undefined
  const block = yield* rpc.getBlock(newest)
  if (block === undefined) return pending
  return { _tag: "Settled", transaction: "", block: { number: block.number, hash: block.hash }, external: false }
})
