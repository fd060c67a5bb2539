/**
 * The credit of channels for streams: a voucher is kept without a draw, and a stream that has begun by a draw reserves further parts of
 * what the vouchers cover. Each part is a draw of its own, durable before it is granted, and charged or released as any other.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { type ChainUnavailable, FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import { ChannelCorrection } from "../../scheme/ChannelCorrection.ts"
import type { ChannelAccount, PresentedVoucher, SchemeDraws } from "../../scheme/SchemeDraws.ts"
import type { Standing } from "../channel/Channel.ts"
import * as ChannelBooks from "../channel/ChannelBooks.ts"
import * as DrawId from "../channel/DrawId.ts"
import * as Checkpoint from "../Checkpoint.ts"
import type { ChannelCredits, ChannelStanding, Credit, CreditRequest, VoucherKept } from "../Facilitator.ts"
import * as ChannelDraws from "./ChannelDraws.ts"
import { requestOf } from "./ChannelSettling.ts"
import * as KnownChannel from "./KnownChannel.ts"
import type { Presented } from "./PaymentIntake.ts"

/** The credit of one facilitator's channels. */
export interface ChannelCredit extends Omit<ChannelCredits, "voucher"> {
  readonly voucher: (presented: Presented, draws: SchemeDraws) => Effect.Effect<VoucherKept, PaymentFailure>
}

/** Another instance's change of a channel is seen after this time, in milliseconds. */
const pollMillis = 1_000

/** A stream goes on to its next part before the one in use is charged, so streams without room for more may still go on. */
const goingOn = { ...ChannelDraws.limits, open: 2 * ChannelDraws.limits.open }

/** Makes it over the facilitator's draws. */
export const make = (context: ChannelDraws.DrawContext, shared: ChannelDraws.ChannelDraws): ChannelCredit => ({
  voucher: (presented, draws) => kept(context, shared, presented, draws),
  reserve: (request) => reserved(context, shared, request),
  renew: Effect.fnUntraced(function* (paymentId, claimId) {
    // A network that is not connected for the moment ends no run.
    const known = yield* KnownChannel.find(context, paymentId)
    if (known === undefined) return false
    return yield* context.ledger.renew(known.standing.channelId, claimId, ChannelDraws.limits.lease)
  }),
  isClosed: Effect.fnUntraced(function* (paymentId) {
    const known = yield* find(context, paymentId)
    return known !== undefined && isClosed(yield* observed(context, known))
  }),
  standing: Effect.fnUntraced(function* (paymentId) {
    const channel = yield* find(context, paymentId)
    return channel && standingOf(channel)
  })
})

/** A channel of the ledger, and the scheme's draws. */
interface Known {
  readonly standing: Standing
  readonly draws: SchemeDraws
}

/** A network that is not connected for the moment leaves the answer open: a final one would end streams. */
const find = Effect.fnUntraced(function* (
  context: ChannelDraws.DrawContext,
  paymentId: string
): Effect.fn.Return<Known | undefined, FacilitatorUnavailable> {
  const found = yield* KnownChannel.find(context, paymentId)
  if (found === undefined) return undefined
  const { draws, standing } = found
  if (draws === undefined) return yield* unconnected(standing.network)
  return { standing, draws }
})

const unconnected = (network: string) =>
  new FacilitatorUnavailable({
    message: `the payment channels of ${network} are not known now, because the network is not connected; ask again`,
    retryAfter: 2
  })

const standingOf = ({ draws, standing }: Known): ChannelStanding => {
  const owed = ChannelBooks.owed(standing)
  const facts = draws.correction({ ...standing, owed, voucher: undefined })
  return {
    channelId: standing.channelId,
    owed,
    accepted: standing.signed,
    published: standing.published,
    balance: standing.balance,
    facts
  }
}

const isClosed = (standing: Standing): boolean =>
  standing.withdrawRequestedAt !== undefined || ChannelBooks.isForeign(standing)

/** With the chain's state as of a moment ago. */
const observed = Effect.fnUntraced(function* (
  { ledger, states }: ChannelDraws.DrawContext,
  { draws, standing }: Known
): Effect.fn.Return<Standing, ChainUnavailable | FacilitatorUnavailable> {
  const { channelId, config, network } = standing
  const { sums: state } = yield* states.recent(draws, channelId)
  return state === undefined ? standing : yield* ledger.open({ ...state, network, config })
})

/** Keeps a verified voucher. A deposit beside it is made in the channel's turn, and only if its voucher will count. */
const kept = Effect.fnUntraced(function* (
  context: ChannelDraws.DrawContext,
  { signals, turns }: ChannelDraws.ChannelDraws,
  presented: Presented,
  draws: SchemeDraws
): Effect.fn.Return<VoucherKept, PaymentFailure> {
  if (presented.refusal !== undefined) return yield* presented.refusal
  const voucher = yield* draws.read(requestOf(presented))
  if (voucher.refund !== undefined) return yield* noVoucher
  const { facilitator } = presented
  yield* context.intake.intake.passNew(facilitator.network)
  yield* context.intake.clocks.demand(facilitator)
  yield* context.health.demand(facilitator, voucher.withdrawDelay)
  const sent: Sent = { presented, draws, voucher }
  const { deposit } = voucher
  const result = deposit === undefined ? advanced(context, sent, "") : funded(context, sent, deposit)
  const end = yield* turns(voucher.channelId, result)
  signals.changed(voucher.channelId)
  return end
})

const noVoucher = invalid(
  "malformed",
  "batch_settlement_payload_type",
  "vouchers and deposits are taken here; ask for a refund at a sold address"
)

/** A voucher that was sent without a request. */
interface Sent {
  readonly presented: Presented
  readonly draws: SchemeDraws
  readonly voucher: PresentedVoucher
}

/** The channel by the chain's newest state, as if the deposit were in it; it enters the ledger with money in it alone. */
const seen = Effect.fnUntraced(function* (
  { ledger, states }: ChannelDraws.DrawContext,
  { draws, presented, voucher: { channelId, config } }: Sent,
  deposit: bigint
): Effect.fn.Return<Standing, PaymentFailure> {
  const { sums: state } = yield* states.newest(draws, channelId)
  if (state === undefined || state.balance + deposit === 0n) return yield* ChannelDraws.empty
  const channel = { ...state, network: presented.facilitator.network, config }
  const isKnown = state.balance > 0n || (yield* ledger.find(channelId)) !== undefined
  const standing = isKnown ? yield* ledger.open(channel) : ChannelBooks.opened(channel)
  return { ...standing, balance: standing.balance + deposit }
})

const funded = Effect.fnUntraced(function* (
  context: ChannelDraws.DrawContext,
  sent: Sent,
  deposit: bigint
): Effect.fn.Return<VoucherKept, PaymentFailure> {
  const { draws, presented, voucher } = sent
  const { channels } = presented.facilitator
  const standing = yield* seen(context, sent, deposit)
  const known = { standing: standingOf({ draws, standing }), transaction: "" }
  if (isClosed(standing)) return { _tag: "Closed", ...known }
  if (voucher.maximum < standing.signed) return { _tag: "Lower", ...known }
  if (voucher.maximum > ChannelBooks.available(standing)) return yield* above(sent, standing)
  if (channels === undefined) return yield* ChannelDraws.empty
  const { transaction } = yield* context.health.depositing(
    presented.facilitator,
    draws.claimGas,
    context.settling.settle(presented, channels)
  )
  return yield* advanced(context, sent, transaction)
})

const advanced = Effect.fnUntraced(function* (
  context: ChannelDraws.DrawContext,
  sent: Sent,
  transaction: string
): Effect.fn.Return<VoucherKept, PaymentFailure> {
  const { draws, voucher } = sent
  const now = yield* seen(context, sent, 0n)
  if (isClosed(now)) return { _tag: "Closed", standing: standingOf({ draws, standing: now }), transaction }
  const end = yield* context.ledger.advance(voucher.channelId, voucher)
  if (end._tag === "Unknown") return yield* ChannelDraws.empty
  if (end._tag === "Short") return yield* above(sent, end.standing)
  const standing = standingOf({ draws, standing: end.standing })
  const tags = { Kept: "Kept", Stale: "Lower", Closing: "Closed" } as const
  return { _tag: tags[end._tag], standing, transaction }
})

/** The refusal of a voucher above the balance, with the channel's sums. */
const above = ({ draws, presented, voucher }: Sent, standing: Standing) => {
  const { network, scheme } = presented.facilitator
  const account: ChannelAccount = { ...standing, owed: ChannelBooks.owed(standing) }
  return Effect.fail(
    new ChannelCorrection(
      { scheme: scheme.name, network },
      draws.correction(account),
      `the voucher is for ${voucher.maximum} in all, more than the ${standing.balance} that the channel holds; deposit first`,
      "batch_settlement_cumulative_exceeds_balance"
    )
  )
}

/** Reserves a part of the credit, or waits until a change of the channel may have brought it. */
const reserved = (
  context: ChannelDraws.DrawContext,
  { signals }: ChannelDraws.ChannelDraws,
  request: CreditRequest
): Effect.Effect<Credit, ValidationError | FacilitatorUnavailable | ChainUnavailable> => {
  const channelId = DrawId.channelOf(request.paymentId) ?? ""
  return Effect.acquireUseRelease(
    Effect.sync(() => signals.watch(channelId)),
    Effect.fnUntraced(function* ({ next }) {
      const until = (yield* Clock.currentTimeMillis) + request.waitMillis
      for (;;) {
        const credit = yield* attempted(context, request)
        const left = until - (yield* Clock.currentTimeMillis)
        if (credit._tag !== "Wanting" || credit.required !== request.known || left <= 0) return credit
        yield* Effect.raceFirst(next, Effect.sleep(Math.min(left, pollMillis)))
      }
    }),
    ({ close }) => Effect.sync(close)
  )
}

/** The chain is read only once the vouchers cover the part. */
const attempted = Effect.fnUntraced(function* (
  context: ChannelDraws.DrawContext,
  { amount, claimId, paymentId }: CreditRequest
): Effect.fn.Return<Credit, ValidationError | FacilitatorUnavailable | ChainUnavailable> {
  const { ledger } = context
  const known = yield* find(context, paymentId)
  if (known === undefined) return yield* invalid("malformed", "unknown_payment", `no draw ${paymentId} is known here`)
  const { draws } = known
  const { channelId } = known.standing
  const wanting = (standing: Standing): Credit => ({
    _tag: "Wanting",
    required: ChannelBooks.owed(standing) + amount,
    standing: standingOf({ draws, standing })
  })
  if (isClosed(known.standing)) return { _tag: "Closed", standing: standingOf(known) }
  const { lapses, network } = known.standing
  const isCovered = known.standing.signed >= ChannelBooks.owed(known.standing) + amount
  const mayLapse = lapses !== undefined && lapses <= (yield* Clock.currentTimeMillis)
  if (!isCovered && !mayLapse) {
    // The same part may have been granted by a call whose answer was lost: then it is reserved already.
    const isGranted = yield* ledger.renew(channelId, claimId, ChannelDraws.limits.lease)
    return isGranted ? { _tag: "Granted", paymentId, standing: standingOf(known) } : wanting(known.standing)
  }
  const newest = yield* observed(context, known)
  const { signed: maximum, voucher } = newest
  if (voucher === undefined) return wanting(newest)
  const draw = { channelId, amount, maximum, voucher, unique: claimId }
  const verdict = yield* ledger.accept(draw, claimId, goingOn)
  if (verdict._tag === "Unknown")
    return yield* invalid("malformed", "unknown_channel", `no channel of ${network} is known`)
  const { standing } = verdict
  if (verdict._tag === "Stale" || verdict._tag === "Busy") return wanting(standing)
  if (verdict._tag !== "Granted") return { _tag: "Closed", standing: standingOf({ draws, standing }) }
  yield* Checkpoint.pass("draw-granted")
  return { _tag: "Granted", paymentId, standing: standingOf({ draws, standing }) }
})
