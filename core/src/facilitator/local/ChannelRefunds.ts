/**
 * Refunds that payers ask the shop for. The ledger holds the money back from draws before the refund is sent, for as long as its
 * signature may be used, so that no accepted voucher loses its cover. The cost of draws, also of those under way, stays in the channel.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"

import * as BoundedMap from "../../platform/BoundedMap.ts"
import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { sealPayload } from "../../protocol/PaymentPayload.ts"
import { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import { invalid } from "../../protocol/ValidationError.ts"
import { ChannelCorrection } from "../../scheme/ChannelCorrection.ts"
import type { SchemeChannels } from "../../scheme/SchemeChannels.ts"
import type { PresentedVoucher, SchemeDraws } from "../../scheme/SchemeDraws.ts"
import type { Payment } from "../../scheme/SchemeFacilitator.ts"
import type { RefundVerdict, SentRefund, Standing } from "../channel/Channel.ts"
import * as ChannelBooks from "../channel/ChannelBooks.ts"
import type { ChannelStore } from "../channel/ChannelStore.ts"
import * as Checkpoint from "../Checkpoint.ts"
import type { Settled } from "../Facilitator.ts"
import type { ChannelHealth } from "./ChannelHealth.ts"
import { type ChannelSettling, requestOf } from "./ChannelSettling.ts"
import type { ChannelStates } from "./ChannelStates.ts"
import { type IntakeContext, present, type Presented } from "./PaymentIntake.ts"

/** The services that refunds share with draws. */
export interface RefundContext {
  readonly intake: IntakeContext
  readonly settling: ChannelSettling
  readonly ledger: ChannelStore["Service"]
  readonly health: ChannelHealth
  readonly states: ChannelStates
}

/** A payer's request for a refund. */
export interface WantedRefund {
  readonly presented: Presented
  readonly draws: SchemeDraws
  readonly voucher: PresentedVoucher
}

/** The most channels whose last refund is known by its claim. */
const mostKnown = 10_000

/** A refund that was begun for a claim. */
interface Begun {
  readonly claimId: string
  readonly end: Deferred.Deferred<Settled, PaymentFailure>
}

/**
 * Makes refunds, or goes on with those under way. One at a time for each channel; another one does not wait for it. A refund goes on
 * without its caller: the same claim that comes again has that one, and no second one of what is left.
 */
export const make = Effect.fnUntraced(function* (context: RefundContext, leastOf: (network: string) => bigint) {
  const underWay = new Set<string>()
  const begun = BoundedMap.oldestOut<string, Begun>(mostKnown)
  const fibers = yield* FiberSet.make()
  const begin = (wanted: WantedRefund, one: Begun) => {
    const { channelId } = wanted.voucher
    underWay.add(channelId)
    begun.set(channelId, one)
    const refunding = refunded(context, wanted, leastOf(wanted.presented.facilitator.network))
    return FiberSet.run(
      fibers,
      Effect.onExit(Effect.interruptible(refunding), (exit) =>
        Effect.sync(() => {
          underWay.delete(channelId)
          // A claim whose refund has failed asks anew.
          if (Exit.isFailure(exit) && begun.get(channelId) === one) begun.delete(channelId)
          Deferred.doneUnsafe(one.end, exit)
        })
      )
    )
  }
  return (wanted: WantedRefund, claimId: string): Effect.Effect<Settled, PaymentFailure> =>
    Effect.uninterruptibleMask((restore) => {
      const { channelId } = wanted.voucher
      const same = begun.get(channelId)
      if (same?.claimId === claimId) return restore(Deferred.await(same.end))
      if (underWay.has(channelId)) return Effect.fail(busy)
      const one: Begun = { claimId, end: Deferred.makeUnsafe() }
      return Effect.andThen(begin(wanted, one), restore(Deferred.await(one.end)))
    })
})

const refunded = Effect.fnUntraced(function* (
  context: RefundContext,
  wanted: WantedRefund,
  least: bigint
): Effect.fn.Return<Settled, PaymentFailure> {
  const { draws, presented, voucher } = wanted
  const { facilitator } = presented
  const { channels } = facilitator
  if (channels === undefined) return yield* noLedger
  yield* context.intake.intake.passNew(facilitator.network)
  yield* context.intake.clocks.demand(facilitator)
  const standing = yield* entered(context, wanted)
  const now = yield* Clock.currentTimeMillis
  const { channelId, maximum } = voucher
  const rest = ChannelBooks.refundable(standing)
  const amount = voucher.refund?.amount ?? rest
  const order = { channelId, amount: amount < rest ? amount : rest, maximum, voucher: voucher.voucher }
  const asked = yield* heldOf(context, wanted, ChannelBooks.refunded(standing, order, now))
  // A refund that could never be sent, or is not worth its gas, must hold no money back.
  if (ChannelBooks.refundUnderWay(standing) === undefined) {
    if (asked.amount < least) return yield* tooLittle(asked.amount, least)
    const job = yield* jobOf(context, wanted, standing, asked)
    yield* channels.plan(requestOf(job), () => Effect.succeed("none"))
  }
  const held = Effect.gen(function* () {
    const verdict = yield* context.ledger.refund(order)
    if (verdict === undefined) return yield* nothing
    const refund = yield* heldOf(context, wanted, verdict)
    yield* Checkpoint.pass("refund-held")
    return yield* settled(context, wanted, yield* jobOf(context, wanted, standing, refund), channels)
  })
  // As a deposit it leaves the coin for claims, which save more than it moves.
  return yield* context.health.depositing(facilitator, draws.claimGas, held)
})

/** The channel in the ledger, by the chain's newest state. */
const entered = Effect.fnUntraced(function* (
  { ledger, states }: RefundContext,
  { draws, presented, voucher: { channelId, config } }: WantedRefund
): Effect.fn.Return<Standing, PaymentFailure> {
  const { sums } = yield* states.newest(draws, channelId)
  const known = yield* ledger.find(channelId)
  if (sums === undefined || (sums.balance === 0n && known === undefined)) return yield* nothing
  return yield* ledger.open({ ...sums, network: presented.facilitator.network, config: known?.config ?? config })
})

const heldOf = (
  context: RefundContext,
  wanted: WantedRefund,
  verdict: RefundVerdict
): Effect.Effect<SentRefund, PaymentFailure> => {
  switch (verdict._tag) {
    case "Held":
      return Effect.succeed(verdict.refund)
    case "Short":
      return nothing
    case "Busy":
      return tooMany
    case "Foreign":
      return foreign
    case "Stale":
      return corrected(context, wanted, verdict.standing)
  }
}

/**
 * Refuses a voucher that does not fit, with what its payer signs instead. Strangers may know a voucher that a claim has named: to its holder
 * no voucher is told that may still buy something. One that is charged in full buys nothing more; the ledger counts it as public from then
 * on, so that its refusal names no higher one either.
 */
const corrected = Effect.fnUntraced(function* (
  { ledger }: RefundContext,
  { draws, presented, voucher: { maximum } }: WantedRefund,
  standing: Standing
): Effect.fn.Return<never, PaymentFailure> {
  const { network, scheme } = presented.facilitator
  const { channelId, charged, claimed, published, used, usedVoucher } = standing
  // No claim names a voucher for nothing: a payer that has lost its books begins with it.
  const isPublic = maximum > 0n && (maximum <= published || maximum <= claimed)
  const owed = isPublic ? charged : ChannelBooks.owed(standing)
  const isTold = used === charged || used <= published
  if (isPublic && isTold && used > published) yield* ledger.publish([{ channelId, maximum: used }])
  const known = isPublic ? { signed: used, voucher: isTold ? usedVoucher : undefined } : {}
  const message = `the voucher of a refund allows exactly the channel's debt of ${owed}, and this one allows ${maximum}; sign for ${owed}`
  return yield* new ChannelCorrection(
    { scheme: scheme.name, network },
    draws.correction({ ...standing, owed, ...known }),
    message
  )
})

const jobOf = (
  { intake }: RefundContext,
  { draws, presented: { facilitator } }: WantedRefund,
  { config }: Standing,
  refund: SentRefund
): Effect.Effect<Presented, PaymentFailure> => {
  const { payload, requirements } = draws.refund({ ...refund, config })
  const paymentPayload = sealPayload(facilitator.scheme.name, facilitator.network, payload)
  return present(intake, { paymentPayload, paymentRequirements: requirements })
}

const settled = Effect.fnUntraced(function* (
  { ledger, settling, states }: RefundContext,
  { draws, voucher: { channelId } }: WantedRefund,
  job: Presented,
  channels: SchemeChannels<Payment>
): Effect.fn.Return<Settled, PaymentFailure> {
  const made = yield* settling.settle(job, channels)
  yield* Checkpoint.pass("refund-settled")
  const { sums } = yield* states.newest(draws, channelId)
  if (sums !== undefined) yield* ledger.observed([sums])
  const standing = yield* ledger.find(channelId)
  if (standing === undefined) return { ...made, isRefund: true }
  const { channelState = null } = draws.correction({
    ...standing,
    owed: ChannelBooks.owed(standing),
    voucher: undefined
  })
  return { ...made, isRefund: true, extra: { channelState } }
})

const noLedger = invalid("unsupported_scheme", "channel_claim", "no ledger of payment channels is kept here")

const nothing = Effect.fail(
  invalid(
    "amount_mismatch",
    "batch_settlement_refund_no_balance",
    "nothing is left to refund: every unit of the channel is charged, may still be charged by a request under way, or is refunded"
  )
)

const tooLittle = (amount: bigint, least: bigint) =>
  Effect.fail(
    invalid(
      "amount_mismatch",
      "batch_settlement_refund_amount_invalid",
      `the refund is of ${amount}, and less than ${least} is not refunded here; ask for more, or withdraw it by the contract`
    )
  )

const tooMany = Effect.fail(
  invalid(
    "amount_mismatch",
    "batch_settlement_refund_amount_invalid",
    "the channel has had all its refunds of 24 hours; ask later, or withdraw by the contract"
  )
)

const foreign = Effect.fail(
  invalid(
    "amount_mismatch",
    "batch_settlement_refund_no_balance",
    "another ledger has claimed on the channel, so its rest is not known here; withdraw it by the contract"
  )
)

const busy = new FacilitatorUnavailable({
  message: "a refund of this payment channel is under way; ask for it again",
  retryAfter: 2
})
